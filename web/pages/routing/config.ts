/** A config as people write it, as far as the page draws it. What is drawn may be wrong: only its shape is looked at. */
export interface Drawn {
  /** `config`, `config.targets[1]`, …: as the gateway names it. */
  readonly path: string;
  readonly mode: string | null;
  readonly name: string | null;
  readonly weight: number | null;
  readonly virtualKey: string | null;
  readonly provider: string | null;
  readonly model: string | null;
  /** What holds for it, in a few words each. */
  readonly traits: readonly string[];
  /** Under `conditional`: the name of the target, and what has to hold. */
  readonly when: string | null;
  readonly below: readonly Drawn[];
}

type Json = Readonly<Record<string, unknown>>;

const objectOf = (value: unknown): Json =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Json) : {};
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null);

const DEEPEST = 8;

export function drawn(value: unknown, path = 'config', when: string | null = null, depth = 0): Drawn {
  const config = objectOf(value);
  const strategy = objectOf(config.strategy);
  const targets = depth < DEEPEST ? listOf(config.targets) : [];
  return {
    path,
    mode: targets.length > 0 ? (textOf(strategy.mode) ?? 'single') : null,
    name: textOf(config.name),
    weight: numberOf(config.weight),
    virtualKey: textOf(config.virtual_key),
    provider: textOf(config.provider),
    model: textOf(objectOf(config.override_params).model),
    traits: traitsOf(config, strategy),
    when,
    below: targets.map((target, index) =>
      drawn(target, `${path}.targets[${index}]`, conditionFor(strategy, objectOf(target)), depth + 1),
    ),
  };
}

function traitsOf(config: Json, strategy: Json): string[] {
  const retries = numberOf(objectOf(config.retry).attempts);
  const timeout = numberOf(config.request_timeout);
  const cache = objectOf(config.cache);
  const guardrails = [config.input_guardrails, config.output_guardrails].flatMap(listOf).length;
  const statuses = listOf(strategy.on_status_codes);
  return [
    statuses.length > 0 ? `on ${statuses.slice(0, 4).join(', ')}${statuses.length > 4 ? '…' : ''}` : '',
    retries ? `${retries} ${retries === 1 ? 'retry' : 'retries'}` : '',
    timeout ? `${timeout >= 1_000 ? `${timeout / 1_000} s` : `${timeout} ms`} at most` : '',
    cache.mode ? 'cached' : '',
    guardrails ? `${guardrails} ${guardrails === 1 ? 'guardrail' : 'guardrails'}` : '',
    strategy.cb_config ? 'circuit breaker' : '',
    strategy.sticky ? 'sticky' : '',
  ].filter(Boolean);
}

function conditionFor(strategy: Json, { name }: Json): string | null {
  if (strategy.mode !== 'conditional') return null;
  const held = listOf(strategy.conditions)
    .map(objectOf)
    .filter(({ then }) => then === name)
    .map(({ query }) => sayQuery(query));
  if (strategy.default === name) held.push(held.length > 0 ? 'otherwise' : 'when nothing else holds');
  return held.length > 0 ? held.join(', or ') : 'never: no condition names it';
}

const WORDS: Readonly<Record<string, string>> = {
  $eq: 'is',
  $ne: 'is not',
  $in: 'is one of',
  $nin: 'is none of',
  $gt: '>',
  $gte: '≥',
  $lt: '<',
  $lte: '≤',
  $regex: 'matches',
};

/** `{ "metadata.tier": { "$eq": "paid" } }` → `metadata.tier is paid`. */
export function sayQuery(query: unknown): string {
  const parts = Object.entries(objectOf(query)).map(([key, test]) => {
    if (key === '$and' || key === '$or')
      return `(${listOf(test)
        .map(sayQuery)
        .join(key === '$and' ? ' and ' : ' or ')})`;
    const tests = Object.entries(objectOf(test));
    if (tests.length === 0) return `${key} is ${say(test)}`;
    return tests.map(([operator, wanted]) => `${key} ${WORDS[operator] ?? operator} ${say(wanted)}`).join(' and ');
  });
  return parts.join(' and ');
}

const say = (value: unknown): string =>
  Array.isArray(value) ? value.map(say).join(', ') : typeof value === 'string' ? value : JSON.stringify(value);

/** The text of a config as the editor shows it. */
export const written = (config: unknown): string => JSON.stringify(config, null, 2);

/** Null: it is no JSON object yet. */
export function parsed(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return value !== null && typeof value === 'object' && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

/** `config.a: why (also config.b: why; config.c: why)` → each fault at its place. */
export function faultsIn(message: string): readonly { path: string; message: string }[] {
  const [, first = message, also = ''] = /^(.*?)(?: \(also (.*)\))?$/s.exec(message) ?? [];
  return [first, ...also.split(/; (?=config[.[:])/)].filter(Boolean).map((text) => {
    const [, path = '', why = text] = /^config((?:\.[^\s:]+|\[\d+\])*): (.*)$/s.exec(text) ?? [];
    return { path: path.replace(/^\./, ''), message: why };
  });
}
