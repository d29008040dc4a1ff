import { BoundedMap } from '../../core/bounded-map.ts';
import type { LogRow } from '../log-columns.ts';
import type { TimedAttempt } from '../shown-attempts.ts';
import type { Attributes, AttributeValue } from './encode.ts';
import { openaiApi, providerName, type Semconv } from './names.ts';
import type { PostedTrace } from './record.ts';
import { SharedAttributes } from './shared-attributes.ts';

export interface SpanOptions {
  readonly semconv: Semconv;
  /** Whether what was said goes along. */
  readonly hasContent: boolean;
}

/** What all spans of a call have in common. */
export interface Call {
  readonly row: LogRow;
  readonly trace: PostedTrace;
  /** Without its query. */
  readonly path: string;
  /** What the caller says of the call, by name. */
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly options: SpanOptions;
}

type Pairs = (readonly [string, AttributeValue])[];

/** Everything that tells callers apart. */
const callerOf = ({ row, trace: [, , , , , , , keyName, workspaceSlug] }: Call): string =>
  `${row.workspace_id}\0${workspaceSlug}\0${row.api_key_id}\0${keyName}\0${row.user_id}`;

const isOfSameCaller = ({ row, trace }: Call, { row: other, trace: otherTrace }: Call): boolean =>
  row.api_key_id === other.api_key_id &&
  row.workspace_id === other.workspace_id &&
  row.user_id === other.user_id &&
  trace[7] === otherTrace[7] &&
  trace[8] === otherTrace[8];

function callerAttributes(row: LogRow, [, , , , , , , keyName, workspaceSlug]: PostedTrace): Pairs {
  const pairs: Pairs = [];
  const add = (name: string, value: string | null) => {
    if (value !== null && value !== '') pairs.push([name, value]);
  };
  add('gateway.workspace.id', row.workspace_id);
  add('gateway.workspace.name', workspaceSlug);
  add('gateway.api_key.id', row.api_key_id);
  add('gateway.api_key.name', keyName);
  add('gateway.user.id', row.user_id);
  return pairs;
}

/** What many spans have in common, by everything that it depends on. */
const MOST_COMMON = 1_000;

const ofCalls = new BoundedMap<string, SharedAttributes>(MOST_COMMON);
/** Most calls are like the one before, which is cheaper to see than to look up. */
let lastCall: { readonly call: Call; readonly shared: SharedAttributes } | null = null;

/** What follows from the route and the caller. */
export function sharedByCalls(call: Call): SharedAttributes {
  if (lastCall && isLikeCall(call, lastCall.call)) return lastCall.shared;
  const { row, path, trace } = call;
  const key = `${row.method}\0${path}\0${trace[5]}\0${row.client_address}\0${row.virtual_key}\0${callerOf(call)}`;
  const shared = ofCalls.get(key) ?? new SharedAttributes(callAttributes(call));
  ofCalls.set(key, shared);
  lastCall = { call, shared };
  return shared;
}

const isLikeCall = (call: Call, other: Call): boolean =>
  call.path === other.path &&
  call.trace[5] === other.trace[5] &&
  call.row.method === other.row.method &&
  call.row.client_address === other.row.client_address &&
  call.row.virtual_key === other.row.virtual_key &&
  isOfSameCaller(call, other);

/** Whatever is read here belongs into the key and the comparison above. */
function callAttributes({ row, trace, path }: Call): Attributes {
  const pairs: Pairs = [
    ['http.request.method', row.method],
    ['url.path', path],
    ['http.route', trace[5]],
  ];
  if (row.client_address) pairs.push(['client.address', row.client_address]);
  if (row.virtual_key) pairs.push(['gateway.virtual_key', row.virtual_key]);
  return [...pairs, ...callerAttributes(row, trace)];
}

interface LastAttempt {
  readonly call: Call;
  readonly attempt: TimedAttempt;
  readonly operation: string | null;
  readonly shared: SharedAttributes;
}

const ofAttempts = new BoundedMap<string, SharedAttributes>(MOST_COMMON);
let lastAttempt: LastAttempt | null = null;

/** What follows from whom was asked for whom. */
export function sharedByAttempts(call: Call, attempt: TimedAttempt, operation: string | null): SharedAttributes {
  if (lastAttempt && lastAttempt.operation === operation && isLikeAttempt(call, attempt, lastAttempt))
    return lastAttempt.shared;
  const { row, path } = call;
  const { provider, model, host, target, virtual_key, reason } = attempt;
  const where = `${provider}\0${model}\0${host}\0${target}\0${virtual_key}\0${reason}`;
  const key = `${operation}\0${row.method}\0${row.is_stream}\0${path}\0${where}\0${callerOf(call)}`;
  const shared = ofAttempts.get(key) ?? new SharedAttributes(attemptAttributes(call, attempt, operation));
  ofAttempts.set(key, shared);
  lastAttempt = { call, attempt, operation, shared };
  return shared;
}

const isLikeAttempt = (call: Call, attempt: TimedAttempt, { call: other, attempt: before }: LastAttempt): boolean =>
  attempt.provider === before.provider &&
  attempt.model === before.model &&
  attempt.host === before.host &&
  attempt.target === before.target &&
  attempt.virtual_key === before.virtual_key &&
  attempt.reason === before.reason &&
  call.path === other.path &&
  call.row.method === other.row.method &&
  call.row.is_stream === other.row.is_stream &&
  isOfSameCaller(call, other);

/** Whatever is read here belongs into the key and the comparison above. */
function attemptAttributes({ row, trace, path }: Call, attempt: TimedAttempt, operation: string | null): Attributes {
  const { provider, model, host, target, virtual_key, reason } = attempt;
  const pairs: Pairs = [operation ? ['gen_ai.operation.name', operation] : ['http.request.method', row.method]];
  if (provider) pairs.push(['gen_ai.provider.name', providerName(provider)]);
  if (model) pairs.push(['gen_ai.request.model', model]);
  if (host) addHost(pairs, host);
  pairs.push(['gateway.target', target]);
  if (virtual_key) pairs.push(['gateway.virtual_key', virtual_key]);
  if (reason) pairs.push(['gateway.attempt.reason', reason]);
  if (operation && row.is_stream) pairs.push(['gen_ai.request.stream', true]);
  const api = operation && (provider === 'openai' || provider === 'azure-openai') ? openaiApi(path) : null;
  if (api) pairs.push(['openai.api.type', api]);
  return [...pairs, ...callerAttributes(row, trace)];
}

function addHost(attributes: Pairs, host: string): void {
  const port = /:(\d{1,5})$/.exec(host)?.[1];
  attributes.push(['server.address', port ? host.slice(0, -port.length - 1) : host]);
  if (port) attributes.push(['server.port', Number(port)]);
}
