import { fail } from '../core/errors.ts';
import { decodeError } from '../dialects/endpoints/errors.ts';
import { geminiModels, type ModelListing, openaiModels, readModel, readModels } from '../dialects/endpoints/models.ts';
import { FramingError } from '../dialects/framing-error.ts';
import { parsed } from '../dialects/json.ts';
import type { Incoming } from '../http/upstream.ts';
import { isAllowed, refuseUnlisted } from './allowed-model.ts';
import type { OpenCall, Prepared } from './call.ts';
import { refusal } from './recode.ts';
import { jsonBytes, replaced, wholeAnswer } from './rewritten.ts';
import type { Target } from './target.ts';

type Place = Pick<Target, 'provider' | 'customHost' | 'virtualKey'>;

/** How a provider lists its models; refuses one that does not. Another host than its own may do it as most do. */
export function listingOf({
  provider: { name, dialect, models },
  customHost,
}: Omit<Place, 'virtualKey'>): ModelListing {
  if (models) return models;
  return dialect === 'openai-chat' || customHost !== null
    ? openaiModels
    : fail('unsupported_by_provider', name, 'list of models');
}

/** `/models` and `/models/{id}`: bytes as they are from providers that list as OpenAI does, the others made like it. */
export function prepareListing(call: OpenCall, target: Place, asIs: Prepared): Prepared {
  const { provider } = target;
  const listing = listingOf(target);
  const id = decodeURIComponent(call.path.replace(/^\/models\/?/, ''));
  const { models } = call.principal;
  const place = { provider: provider.name, virtualKey: target.virtualKey };
  if (models && id !== '') refuseUnlisted(call.principal, id, place);
  // A key that may call certain models is shown these.
  const isShown = models && id === '' ? (name: string) => isAllowed(models, name, place) : null;
  // The query of a client of Google's means something to Google alone.
  if (call.form === 'listModels' && listing === geminiModels && !isShown) return asIs;
  if (listing === openaiModels && !isShown) return call.form === 'listModels' ? { ...asIs, search: '' } : asIs;
  const address = id !== '' && listing.one ? listing.one.path(id) : listing.path;
  const [path = '', query] = address.split('?');
  return {
    ...asIs,
    path,
    search: query ? `?${query}` : '',
    translation: {
      headers: { 'accept-encoding': 'identity' },
      notes: {},
      answer: (incoming) => answer(incoming, listing, provider.name, { id, isShown }),
    },
  };
}

interface Wanted {
  /** Of one model; empty: all of them. */
  readonly id: string;
  readonly isShown: ((name: string) => boolean) | null;
}

async function answer(
  incoming: Incoming,
  listing: ModelListing,
  provider: string,
  { id, isShown }: Wanted,
): Promise<Incoming> {
  const text = new TextDecoder().decode(await wholeAnswer(incoming, provider));
  const json = parsed(text);
  if (incoming.status >= 400) return refusal(incoming, decodeError(incoming.status, json ?? text), 'listModels');
  const body = read(
    () => (id === '' ? whole(listing, json, provider, isShown) : one(listing, json, provider, id)),
    provider,
  );
  return replaced(incoming, { status: incoming.status, type: 'application/json', bytes: jsonBytes(body) });
}

function whole(listing: ModelListing, json: unknown, provider: string, isShown: Wanted['isShown']) {
  const { models: all, hasMore } = readModels(listing, json);
  const models = isShown ? all.filter(({ id }) => isShown(id)) : all;
  return {
    object: 'list',
    data: models.map((model) => ({ ...model, provider })),
    // What lists of Anthropic have beside, for its own clients.
    has_more: hasMore,
    first_id: models[0]?.id ?? null,
    last_id: models.at(-1)?.id ?? null,
  };
}

function one(listing: ModelListing, json: unknown, provider: string, id: string) {
  const model = readModel(listing, json, id) ?? fail('model_not_found', id, provider);
  return { ...model, provider };
}

function read<Value>(work: () => Value, provider: string): Value {
  try {
    return work();
  } catch (error) {
    if (error instanceof FramingError) fail('upstream_failed', provider, error.message);
    throw error;
  }
}
