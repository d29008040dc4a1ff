import { includesBytes } from '../core/bytes.ts';
import type { EndpointType } from '../core/endpoints.ts';
import { fail } from '../core/errors.ts';
import { findMembers } from '../core/json-bytes.ts';
import type { Dialect } from '../dialects/dialect.ts';
import { completions } from '../dialects/endpoints/completions.ts';
import { CONVERSATIONS, dialects } from '../dialects/index.ts';
import { flagOf } from '../http/headers.ts';
import { chatEndpoint } from '../providers/chat.ts';
import type { ChatEndpoint, Provider } from '../providers/provider.ts';
import { applyParams, compileParams } from '../routing/params.ts';
import type { TargetSettings } from '../routing/plan.ts';
import { stringMember } from './body.ts';
import type { OpenCall, Opening, Prepared, Translation } from './call.ts';
import { framings } from './framing.ts';
import type { ThoughtKeeper } from './kept-thoughts.ts';
import { prepareListing } from './model-list.ts';
import { recode } from './recode.ts';
import { refuseBrokenName } from './rewritten.ts';
import type { Target } from './target.ts';
import { translate } from './translate.ts';

export interface PrepareDeps {
  readonly now: () => number;
  readonly thoughts?: ThoughtKeeper;
}

const NAMES: Partial<Record<EndpointType, string>> = {
  complete: 'completions endpoint',
  embed: 'embeddings',
  rerank: 'rerank endpoint',
  moderate: 'moderations',
  imageGenerate: 'image generation',
  imageEdit: 'image edits',
  imageVariation: 'image variations',
  createSpeech: 'speech endpoint',
  createTranscription: 'transcriptions',
  createTranslation: 'audio translations',
  countTokens: 'token counting',
};

/** Decides how a call reaches a target. Nothing is parsed where the target speaks the client's dialect. */
export function prepare(call: OpenCall, target: Target, settings: TargetSettings, deps: PrepareDeps): Prepared {
  const { provider } = target;
  const { now } = deps;
  const asIs = asGiven(call);
  if (call.endpoint === 'listModels') return prepareListing(call, provider, asIs);
  if (passesAsIs(provider, call.endpoint)) return asIs;
  refuseUnsupported(provider, call.endpoint);
  const body = wholeJson(call);
  const codec = provider.endpoints?.[call.endpoint];
  if (codec && codec !== 'chat') {
    return rewritten(call, recode(body, { codec, endpoint: call.endpoint, provider: provider.name, now }));
  }
  const from = codec === 'chat' ? PROMPTS : dialects[CONVERSATIONS[call.endpoint]!];
  const model = stringMember(body, 'model') ?? '';
  refuseBrokenName(model);
  const endpoint = chatEndpoint(provider, {
    model,
    stream: isStream(body),
    options: target.options,
  });
  if (!endpoint) return fail('unsupported_by_provider', provider.name, 'chat');
  return endpoint.dialect === from.name && from !== PROMPTS
    ? moved(call, body, endpoint)
    : translated(call, body, endpoint, { from, provider, settings, deps });
}

/** The call as it came. */
export const asGiven = ({ path, search, body, grownBy }: OpenCall): Prepared => ({
  path,
  search,
  body,
  grownBy,
  translation: null,
});

/** Text completions on models that only chat. */
const PROMPTS: Dialect = { name: 'openai-chat', inbound: completions };

/** What a provider has in no format is refused before its body is read. */
export function refuseUnsupported(provider: Provider, endpoint: EndpointType): void {
  if (passesAsIs(provider, endpoint) || endpoint in CONVERSATIONS || provider.endpoints?.[endpoint]) return;
  fail('unsupported_by_provider', provider.name, NAMES[endpoint] ?? endpoint);
}

/** Whether the target takes this endpoint at the client's path and in the client's format. */
export function passesAsIs({ dialect, serves, endpoints, chat }: Provider, endpoint: EndpointType): boolean {
  if (endpoint === 'proxy' || endpoint === 'listModels') return true;
  if (endpoints?.[endpoint]) return false;
  if (endpoint === 'chatComplete') return dialect === 'openai-chat' && !chat;
  if (serves) return serves.includes(endpoint);
  return !(endpoint in CONVERSATIONS) && endpoint !== 'countTokens';
}

/** The same dialect at another address. */
function moved(call: OpenCall, body: Uint8Array, endpoint: ChatEndpoint): Prepared {
  const head = forAddress(body, endpoint);
  const [path = '', query] = endpoint.path.split('?');
  const opening = { head, rest: null };
  return { path, search: joined(call.search, query), body: opening, grownBy: grown(call, opening), translation: null };
}

function translated(
  call: OpenCall,
  body: Uint8Array,
  endpoint: ChatEndpoint,
  {
    from,
    provider,
    settings,
    deps,
  }: { from: Dialect; provider: Provider; settings: TargetSettings; deps: PrepareDeps },
): Prepared {
  const { now, thoughts } = deps;
  const made = translate(body, {
    from,
    to: dialects[endpoint.dialect],
    quirks: endpoint.quirks,
    framing: framings[endpoint.framing ?? 'sse'],
    requestId: call.stamp['x-gateway-request-id'] ?? '',
    now,
    isStrict: settings.strict ?? flagOf(call.headers, 'x-gateway-strict-open-ai-compliance') ?? true,
    kept: call.kept,
    files: call.files,
    thoughts: call.thoughts,
    ...(thoughts && { keepThoughts: (made) => thoughts.keep(call.principal, made) }),
    provider: provider.name,
  });
  const prepared = rewritten(call, { ...made, path: endpoint.path, body: forAddress(made.body, endpoint) });
  return made.bareCalls.length > 0 ? { ...prepared, bareCalls: made.bareCalls } : prepared;
}

/** A call whose body and answer are both the provider's. */
function rewritten(
  call: OpenCall,
  { path: address, body, headers, notes, answer }: Translation & { readonly path: string; readonly body: Uint8Array },
): Prepared {
  const [path = '', query] = address.split('?');
  const opening = { head: body, rest: null };
  return {
    path,
    search: query ? `?${query}` : '',
    body: opening,
    grownBy: grown(call, opening),
    // The answer is read here, so it has to come unpacked.
    translation: { headers: { ...headers, 'accept-encoding': 'identity' }, notes, answer },
  };
}

function forAddress(body: Uint8Array, { edits }: ChatEndpoint): Uint8Array {
  if (!edits) return body;
  const params = compileParams({
    default_params: edits.defaults,
    override_params: edits.overrides,
    drop_params: edits.drops,
  });
  return params ? applyParams(body, params) : body;
}

const joined = (search: string, query: string | undefined): string => {
  if (!query) return search;
  return search ? `${search}&${query}` : `?${query}`;
};

const grown = ({ body, grownBy }: OpenCall, next: Opening | null): number =>
  grownBy + (next && body ? next.head.byteLength - body.head.byteLength : 0);

/** The call with the parameters of its config: before anybody judges it, since who calls may have written the config. */
export function withParams(call: OpenCall, params: NonNullable<TargetSettings['params']>): OpenCall {
  const { body, isJson } = call;
  if (!body) return call;
  if (!isJson) fail('invalid_config', 'config.override_params', 'parameters can be set in JSON bodies only');
  const edited = { head: applyParams(body.head, params), rest: body.rest };
  call.log.model = call.addressed ?? stringMember(edited.head, 'model');
  return { ...call, body: edited, grownBy: grown(call, edited) };
}

function wholeJson({ isJson, headers, body }: OpenCall): Uint8Array {
  if (!isJson || !body) return fail('unsupported_media_type', headers['content-type'] ?? '', 'application/json');
  return body.head;
}

const QUOTED_STREAM = Buffer.from('"stream"');
/** How any letter of it begins when it is not written as itself. */
const ESCAPE = Buffer.from('\\u00');

/** Whether a JSON body asks for a stream. */
export function isStream(body: Uint8Array): boolean {
  // Most bodies name it nowhere, and searching is much faster than walking.
  if (!includesBytes(body, QUOTED_STREAM) && !includesBytes(body, ESCAPE)) return false;
  const [member] = findMembers(body, 'stream', 1);
  return member !== undefined && body[member.start] === 't'.charCodeAt(0);
}
