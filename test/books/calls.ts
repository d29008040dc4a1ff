/** What happens in one call, whichever its number. */
interface Kind {
  /** What the simulator does, request by request. */
  readonly steps?: string;
  readonly config?: object;
  readonly says?: string;
  readonly stream?: boolean;
  /** The client hangs up after so many milliseconds. */
  readonly leavesAfterMs?: number;
  /** So many calls in a row ask the very same. */
  readonly shared?: number;
  /** Through Anthropic's dialect. */
  readonly translated?: boolean;
}

const forbidden = { 'default.contains': { words: ['forbidden'], operator: 'none' }, deny: true };
const own = (keys: object = {}) => ({ virtual_key: 'sim', ...keys });
const retry = { attempts: 2, on_status_codes: [503], use_retry_after_headers: true };
const several = (...targets: object[]) => ({ strategy: { mode: 'fallback' }, targets });
/** The simulator says what it was told, so the word comes back. */
const DENIED = 'a forbidden word';

/** The mix: each kind in turn. */
export const KINDS: Readonly<Record<string, Kind>> = {
  plain: {},
  streamed: { stream: true },
  translated: { translated: true },
  'translated stream': { translated: true, stream: true },
  retried: { steps: 'status=503, retry-after=0; length=8', config: own({ retry }) },
  'retried in vain': { steps: 'status=503, retry-after=0', config: own({ retry: { ...retry, attempts: 1 } }) },
  'fallen back': { steps: 'status=500; length=9', config: several(own(), own()) },
  'fallen back to another dialect': {
    steps: 'status=500; length=9',
    config: several(own(), { virtual_key: 'claude' }),
  },
  refused: { steps: 'status=400' },
  'denied before': { says: DENIED, config: own({ input_guardrails: [forbidden] }) },
  'denied after': { says: DENIED, config: own({ output_guardrails: [forbidden] }) },
  passed: { config: own({ input_guardrails: [forbidden], output_guardrails: [forbidden] }) },
  'denied, then fallen back': {
    says: DENIED,
    config: {
      strategy: { mode: 'fallback', on_status_codes: [446] },
      targets: [own({ output_guardrails: [forbidden] }), own()],
    },
  },
  'found fault with, then fallen back': {
    says: DENIED,
    config: {
      strategy: { mode: 'fallback', on_status_codes: [246] },
      targets: [own({ output_guardrails: [{ ...forbidden, deny: false }] }), own()],
    },
  },
  // A connection that breaks at once may be one that the provider had given up: the request is then sent again on another.
  'cut before its first byte': { steps: 'delay=60, cut=headers' },
  'stream cut': { steps: 'cut=after:2', stream: true },
  'client gone before the answer': { steps: 'stall=headers', leavesAfterMs: 40 },
  'client gone from a stream': { steps: 'stall=after:3', stream: true, leavesAfterMs: 120 },
  cached: { shared: 4, config: own({ cache: { mode: 'simple' } }) },
};

export interface Planned {
  readonly name: string;
  readonly kind: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly leavesAfterMs: number | null;
}

/** Names that the price list takes for versions of one model, so that every call has a price, in whole billionths. */
const nameOf = (number: number, isTranslated: boolean): string =>
  `${isTranslated ? 'claude-sonnet-4-5' : 'gpt-4o-mini'}-v${number}`;

/** Calls that the provider never answers. */
export const heldCalls = (count: number, round: number): Planned[] =>
  Array.from({ length: count }, (_, at) =>
    plannedCall(1_000_000 + round * 1_000 + at, 'held', { steps: 'stall=headers' }),
  );

export function planned(count: number): Planned[] {
  const kinds = Object.entries(KINDS);
  const calls: Planned[] = [];
  for (let number = 1; calls.length < count; number++) {
    const [kind, given] = kinds[number % kinds.length]!;
    const call = plannedCall(number, kind, given);
    for (let copy = 0; copy < (given.shared ?? 1); copy++) calls.push(call);
  }
  return calls.slice(0, count);
}

function plannedCall(number: number, kind: string, given: Kind): Planned {
  const { says = 'Hello', steps = says === DENIED ? '' : 'length=12', stream = false, translated = false } = given;
  const name = nameOf(number, translated);
  const body = JSON.stringify({
    model: name,
    max_tokens: 50,
    messages: [{ role: 'user', content: `${says} [[steps: ${steps}]]` }],
    ...(stream && { stream, stream_options: { include_usage: true } }),
  });
  const headers = {
    'content-type': 'application/json',
    'x-gateway-config': JSON.stringify(given.config ?? { virtual_key: translated ? 'claude' : 'sim' }),
    'x-gateway-metadata': JSON.stringify({ call: name }),
  };
  return { name, kind, body, headers, leavesAfterMs: given.leavesAfterMs ?? null };
}
