/** Where a call stands in its trace. Ids are hex, as W3C's Trace Context writes them. */
export interface TraceContext {
  readonly traceId: string;
  /** Of the span of the call itself. Spans below it have the same first twelve digits and a number behind them. */
  readonly spanId: string;
  /** Null: the trace begins here. */
  readonly parentId: string | null;
  readonly isSampled: boolean;
  readonly state: string | null;
}

/** What a client or a caller inside the gateway says of the trace it is in. */
export type ParentContext = Pick<TraceContext, 'traceId' | 'spanId' | 'isSampled' | 'state'>;

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const NO_TRACE = '0'.repeat(32);
const NO_SPAN = '0'.repeat(16);
const SAMPLED = 1;
/** W3C lets a receiver drop a longer list; members over 128 characters may be left out, too. */
const LONGEST_STATE = 512;
const STATE_MEMBER =
  /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;
const MOST_MEMBERS = 32;

/** The context that a client sent, or null where it sent none or a broken one: a trace then begins here. */
export function parentIn(
  traceparent: string | null | undefined,
  tracestate: string | null | undefined,
): ParentContext | null {
  if (!traceparent) return null;
  const found = TRACEPARENT.exec(traceparent.trim());
  if (!found) return null;
  const [, version, traceId = '', spanId = '', flags = '', rest] = found;
  // Version 00 ends here; later ones may go on, and version ff does not exist.
  if (version === 'ff' || (version === '00' && rest !== undefined)) return null;
  if (traceId === NO_TRACE || spanId === NO_SPAN) return null;
  const isSampled = (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED;
  return { traceId, spanId, isSampled, state: stateIn(tracestate) };
}

/** A list that breaks the rules is left out as a whole. */
function stateIn(tracestate: string | null | undefined): string | null {
  if (!tracestate || tracestate.length > LONGEST_STATE) return null;
  const members = tracestate
    .split(',')
    .map((member) => member.trim())
    .filter((member) => member !== '');
  if (members.length === 0 || members.length > MOST_MEMBERS) return null;
  return members.every((member) => STATE_MEMBER.test(member)) ? members.join(',') : null;
}

/** Numbers of spans below a call: its attempts count from 1, and the others have their own ranges. */
export const BELOW = { attempt: 0x0000, guardrail: 0x1000, cache: 0x2000, step: 0x3000, within: 0x4000 } as const;
const PREFIX_DIGITS = 12;

/** Nearly every call asks once. */
const FIRST = Array.from({ length: 8 }, (_, number) => `000${number}`);

/** The id of a span below a call. The call knows it before the thread that builds the span does. */
export const spanBelow = (spanId: string, number: number): string =>
  spanId.slice(0, PREFIX_DIGITS) + (FIRST[number] ?? (number & 0xffff).toString(16).padStart(4, '0'));

/** What a request to a provider carries. */
export const traceparentOf = (traceId: string, spanId: string, isSampled: boolean): string =>
  `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;

const LAST_DIGITS = -12;

/** The id of a trace that begins here: the request's, whose last digits are random, as samplers need them. */
export const traceIdFrom = (requestId: string): string => requestId.replaceAll('-', '');

/** The id of the span of a request: its random digits, and four zeros for the spans below. */
export const spanIdFrom = (requestId: string): string => `${requestId.slice(LAST_DIGITS)}0000`;

/** The id of the span of something that several nodes may work on: each finds the same. */
export const spanIdOf = (id: string): string =>
  `${new Bun.CryptoHasher('sha256').update(id).digest('hex').slice(0, PREFIX_DIGITS)}0000`;
