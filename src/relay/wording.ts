import type { ClientForm } from '../core/endpoints.ts';
import { fail, GatewayError } from '../core/errors.ts';
import type { Tokens } from '../core/tokens.ts';
import type { Dialect } from '../dialects/dialect.ts';
import { completions } from '../dialects/endpoints/completions.ts';
import { CONVERSATIONS, dialects } from '../dialects/index.ts';
import { flagOf } from '../http/headers.ts';
import { chatEndpoint } from '../providers/chat.ts';
import { hasRefusedStreamOptions } from '../providers/learned-refusals.ts';
import type { ChatEndpoint, Provider } from '../providers/provider.ts';
import { passesAsIs } from '../providers/serving.ts';
import { applyParams, compileParams } from '../routing/params.ts';
import { refuseOtherModels } from './allowed-model.ts';
import type { Attempt, Edited, OpenCall, Opening, Prepared, Ready, Translation } from './call.ts';
import { answeredInForm, askedInForm } from './client-form.ts';
import { framings } from './framing.ts';
import { keptAfterVerdict } from './guarding/kept-guard.ts';
import { openKeptResponse, type ResponseKeeper } from './kept-response.ts';
import type { ThoughtKeeper } from './kept-thoughts.ts';
import { prepareListing } from './model-list.ts';
import { isInForm, isRead } from './prepare.ts';
import { isStream, stringMember } from './receive.ts';
import { recode } from './recode.ts';
import { type FetchDeps, fetchMedia, MediaWanted } from './remote-media.ts';
import { jsonBytes, parsedRequest, refuseBrokenName } from './rewritten.ts';
import { countedHere } from './token-count.ts';
import { translate } from './translate.ts';

export interface WordingDeps extends FetchDeps {
  readonly now: () => number;
  readonly counter: Tokens;
  readonly responses?: ResponseKeeper;
  readonly thoughts?: ThoughtKeeper;
}

/** In the words of its target: a call that is prepared, and once more one that guardrails have changed. */
export async function putInWords({ call, guarding }: Edited, to: Attempt, deps: WordingDeps): Promise<Ready> {
  const { models } = call.principal;
  // A model that a check asks was chosen by the author of the check.
  if (models && !call.isUnguarded) refuseOtherModels(call, to, models);
  if (call.endpoint === 'createModelResponse' && isRead(call, to)) return readyToKeep({ call, guarding }, to, deps);
  return ready({ call, guarding }, to, deps);
}

/** Providers without the Responses API keep no conversation; the gateway does it for them. */
async function readyToKeep({ call, guarding }: Edited, to: Attempt, deps: WordingDeps): Promise<Ready> {
  const { responses } = deps;
  if (!call.isJson || !call.body || !responses) return ready({ call, guarding }, to, deps);
  const kept = await openKeptResponse(call.principal, call.body.head, responses, call.stamp['x-gateway-trace-id']);
  const later = guarding?.judgesAnswers ? keptAfterVerdict(kept) : null;
  const made = ready({ call: { ...call, kept: later?.kept ?? kept }, guarding }, to, deps);
  return { ...made, call, ...(later && { onPassed: later.passed }) };
}

function ready({ call, guarding }: Edited, to: Attempt, deps: WordingDeps): Ready {
  if (!isInForm(call) && passesAsIs(to.target, call.endpoint, call.tongue)) {
    const asIs = asGiven(call);
    const prepared = call.endpoint === 'listModels' ? prepareListing(call, to.target, asIs) : asIs;
    return { call, guarding, prepared, supply: null };
  }
  if (!isInForm(call) && call.endpoint === 'countTokens' && !to.target.provider.endpoints?.countTokens)
    return { call, guarding, prepared: countedHere(call, deps.counter), supply: null };
  try {
    const prepared = worded(call, to, deps);
    const { bareCalls } = prepared;
    const { thoughts: kept } = deps;
    if (!bareCalls || !kept) return { call, guarding, prepared, supply: null };
    const supply = async () => {
      const thoughts = await kept.find(call.principal, bareCalls);
      return thoughts.size > 0 ? worded({ ...call, thoughts }, to, deps) : prepared;
    };
    return { call, guarding, prepared, supply };
  } catch (error) {
    // Some count for some of their models only.
    if (
      !isInForm(call) &&
      call.endpoint === 'countTokens' &&
      error instanceof GatewayError &&
      error.code === 'not_expressible'
    )
      return { call, guarding, prepared: countedHere(call, deps.counter), supply: null };
    if (!(error instanceof MediaWanted)) throw error;
    const { wanted, bareCalls } = error;
    const supply = async () => {
      const files = await fetchMedia(wanted, { upstream: deps.upstream, signal: call.request.signal });
      const thoughts = bareCalls.length > 0 ? await deps.thoughts?.find(call.principal, bareCalls) : undefined;
      return worded({ ...call, files, thoughts: thoughts ?? new Map() }, to, deps);
    };
    return { call, guarding, prepared: asGiven(call), supply };
  }
}

/** The call as it came. */
const asGiven = ({ path, search, body, grownBy }: OpenCall): Prepared => ({
  path,
  search,
  body,
  grownBy,
  translation: null,
});

/** A call for a target that does not take it as it came: at another address, or in another format. */
function worded(call: OpenCall, to: Attempt, deps: WordingDeps): Prepared {
  const { target } = to;
  const { provider } = target;
  const body = wholeJson(call);
  if (call.form && call.form !== 'listModels') return inForm(call, body, call.form, to, deps);
  const codec = provider.endpoints?.[call.endpoint];
  if (codec && codec !== 'chat') {
    const { now } = deps;
    return rewritten(
      call,
      recode(body, {
        codec,
        endpoint: call.endpoint,
        provider: provider.name,
        now,
        dropsUnsayable: dropsUnsayable(call, to),
      }),
    );
  }
  const from = codec === 'chat' ? PROMPTS : dialects[CONVERSATIONS[call.endpoint]!];
  const model = stringMember(body, 'model') ?? '';
  refuseBrokenName(model);
  const endpoint = chatEndpoint(provider, {
    model,
    stream: isStream({ head: body }),
    options: target.options,
  });
  if (!endpoint) return fail('unsupported_by_provider', provider.name, 'chat');
  return endpoint.dialect === from.name && from !== PROMPTS
    ? moved(call, body, endpoint)
    : translated(call, body, endpoint, { from, to, deps });
}

/** The config's word counts before the call's: what an operator has decided, a caller does not undo. */
const dropsUnsayable = ({ headers }: OpenCall, { settings }: Attempt): boolean =>
  settings.dropsUnsayable ?? flagOf(headers, 'x-gateway-drop-params') ?? false;

/** Thoughts are shown as text, unless the config or the call says strict: yes hides them, no shows their signatures, too. */
function shown({ headers }: OpenCall, { settings }: Attempt) {
  const strict = settings.strict ?? flagOf(headers, 'x-gateway-strict-open-ai-compliance');
  return { isStrict: strict ?? true, showsThoughts: strict === null };
}

/** Text completions on models that only chat. */
const PROMPTS: Dialect = { name: 'openai-chat', inbound: completions };

/** The same dialect at another address. */
function moved(call: OpenCall, body: Uint8Array, endpoint: ChatEndpoint): Prepared {
  const head = forAddress(endpoint.dialect === 'gemini' ? asSent(body) : body, endpoint);
  const [path = '', query] = endpoint.path.split('?');
  const opening = { head, rest: null };
  return { path, search: joined(call.search, query), body: opening, grownBy: grown(call, opening), translation: null };
}

const IN_ADDRESS = compileParams({ drop_params: ['model', 'stream'] })!;

/** Without what the address of a client of Google's says, which is in the body only on its way through the gateway. */
const asSent = (body: Uint8Array): Uint8Array => applyParams(body, IN_ADDRESS);

/** Embeddings and counting in a client's own format: at Google's own address, or as the endpoint that others have for it. */
function inForm(call: OpenCall, body: Uint8Array, form: Verb, to: Attempt, deps: WordingDeps): Prepared {
  const { provider } = to.target;
  const model = stringMember(body, 'model') ?? '';
  refuseBrokenName(model);
  const isGoogle = isGoogles(provider) && !form.startsWith('ollama');
  const asked = askedInForm(form, parsedRequest(body), {
    model: model.replace(/^models\//, ''),
    named: call.inAddress?.model ?? model,
    knowsTasks: provider.dialect === 'gemini',
    provider: provider.name,
    isGoogle,
    dropsUnsayable: dropsUnsayable(call, to),
  });
  if (isGoogle) {
    const path = `/models/${encodeURIComponent(model)}:${form}`;
    const opening = { head: asked.own ? jsonBytes(asked.own) : asSent(body), rest: null };
    return { path, search: call.search, body: opening, grownBy: grown(call, opening), translation: null };
  }
  const { endpoint } = call;
  if (!passesAsIs(to.target, endpoint) && !provider.endpoints?.[endpoint])
    return fail('unsupported_by_provider', provider.name, FORM_NAMES[form]);
  const opening = { head: jsonBytes(asked.body), rest: null };
  const plain: OpenCall = {
    ...call,
    form: undefined,
    path: asked.path,
    search: '',
    body: opening,
    grownBy: grown(call, opening),
  };
  const prepared = passesAsIs(to.target, endpoint)
    ? { path: asked.path, search: '', body: opening, grownBy: plain.grownBy, translation: null }
    : worded(plain, to, deps);
  return answeredInForm(prepared, asked, provider.name);
}

/** Where Google's own API is spoken, and not only its chat. */
const isGoogles = ({ dialect, chat }: Provider): boolean => dialect === 'gemini' && !chat;

type Verb = Exclude<ClientForm, 'listModels'>;

const FORM_NAMES: Readonly<Record<Verb, string>> = {
  embedContent: 'embeddings',
  ollamaEmbed: 'embeddings',
  ollamaEmbeddings: 'embeddings',
  batchEmbedContents: 'embeddings',
  countTokens: 'token counting',
};

function translated(
  call: OpenCall,
  body: Uint8Array,
  endpoint: ChatEndpoint,
  { from, to, deps }: { from: Dialect; to: Attempt; deps: WordingDeps },
): Prepared {
  const { now, thoughts } = deps;
  const made = translate(body, {
    from,
    to: dialects[endpoint.dialect],
    quirks: hasRefusedStreamOptions(to.target, call.log.model, placeOf(endpoint))
      ? { ...endpoint.quirks, refusesStreamOptions: true }
      : endpoint.quirks,
    framing: framings[endpoint.framing ?? 'sse'],
    requestId: call.stamp['x-gateway-request-id'] ?? '',
    now,
    ...shown(call, to),
    dropsUnsayable: dropsUnsayable(call, to),
    hopesForUsage: call.hopesForUsage,
    standingBy: call.standingBy,
    forAddress: (edited) => forAddress(edited, endpoint),
    kept: call.kept,
    files: call.files,
    thoughts: call.thoughts,
    ...(thoughts && { keepThoughts: (made) => thoughts.keep(call.principal, made) }),
    provider: to.target.provider.name,
  });
  const prepared = rewritten(call, { ...made, path: endpoint.path, body: forAddress(made.body, endpoint) });
  const { bareCalls, unasked, isChecked } = made;
  return {
    ...prepared,
    ...(isChecked && { isChecked }),
    ...(bareCalls.length > 0 && { bareCalls }),
    ...(unasked && { unasked: () => forAddress(unasked(), endpoint) }),
  };
}

/** A call whose body and answer are both the provider's. */
function rewritten(
  call: OpenCall,
  { path: address, body, headers, notes, answer }: Translation & { readonly path: string; readonly body: Uint8Array },
): Prepared {
  const opening = { head: body, rest: null };
  return {
    ...placeOf({ path: address }),
    body: opening,
    grownBy: grown(call, opening),
    // The answer is read here, so it has to come unpacked.
    translation: { headers: { ...headers, 'accept-encoding': 'identity' }, notes, answer },
  };
}

function placeOf({ path: address }: Pick<ChatEndpoint, 'path'>): Pick<Prepared, 'path' | 'search'> {
  const [path = '', query] = address.split('?');
  return { path, search: query ? `?${query}` : '' };
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

function wholeJson({ isJson, headers, body }: OpenCall): Uint8Array {
  if (!isJson || !body) return fail('unsupported_media_type', headers['content-type'] ?? '', 'application/json');
  return body.head;
}
