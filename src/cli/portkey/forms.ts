import type { Findings } from '../../desired/reading/findings.ts';
import { pathText } from '../../desired/reading/findings.ts';
import type { Path, Source } from '../../desired/reading/source.ts';

type Members = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Members =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

/** What stands in these is the provider's, or the caller's, and keeps its names. */
const WHOLE = new Set([
  'override_params',
  'default_params',
  'query',
  'input_guardrails',
  'output_guardrails',
  'before_request_hooks',
  'after_request_hooks',
  'vertex_service_account_json',
]);
/** Members that were called otherwise. */
const RENAMED: Readonly<Record<string, string>> = { use_retry_after_header: 'use_retry_after_headers' };

const MOST_ATTEMPTS = 5;
const AGES = { least: 60, most: 7_776_000 };
/** Statuses of denied answers, which are paid for: the same target is not asked for another one. */
const DENIED = new Set([246, 446]);

/** How the code that reads a config says what becomes of a part of it. */
export interface Saying {
  readonly note: (path: Path, says: string) => void;
  readonly leaveOut: (path: Path, says: string) => void;
}

export const sayingIn = (source: Source, findings: Findings): Saying => ({
  note: (path, says) => findings.note(source.placeOf(path), `${pathText(path)} ${says}`),
  leaveOut: (path, says) => findings.leaveOut(source.placeOf(path), `${pathText(path)} ${says}`),
});

/** A config object of Portkey's in the form that configs have here: other spellings, and bounds that differ. */
export function inOurForm(value: unknown, path: Path, saying: Saying): unknown {
  if (!isObject(value)) return value;
  const node: Record<string, unknown> = { ...spelt(value) };
  if (isObject(node.cache)) node.cache = cacheOf(node.cache, [...path, 'cache'], saying);
  if (isObject(node.retry)) node.retry = retryOf(node.retry, [...path, 'retry'], saying);
  if (node.virtual_key !== undefined && node.provider !== undefined) {
    // The virtual key names its provider.
    delete node.provider;
  }
  for (const member of ['fetch_integrated_models', 'on_status_codes']) {
    if (!(member in node)) continue;
    delete node[member];
    saying.leaveOut([...path, member], 'has no counterpart');
  }
  for (const member of ['input_guardrails', 'output_guardrails'])
    for (const [index, each] of (Array.isArray(node[member]) ? (node[member] as unknown[]) : []).entries())
      if (typeof each === 'string')
        saying.note(
          [...path, member, index],
          `names guardrail ${each}; calls are refused until there is one of that slug`,
        );
  if (Array.isArray(node.targets))
    node.targets = node.targets.map((target, index) => inOurForm(target, [...path, 'targets', index], saying));
  return node;
}

/** The same with names in snake case, and without what is null. */
function spelt(value: Members): Members {
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== null)
      .map(([name, member]) => {
        const snake = name.includes('.') ? name : name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
        const ours = RENAMED[snake] ?? snake;
        if (ours === 'targets' || WHOLE.has(ours)) return [ours, member];
        if (ours === 'conditions' && Array.isArray(member))
          return [ours, member.map((each) => (isObject(each) ? spelt(each) : each))];
        return [ours, isObject(member) ? spelt(member) : member];
      }),
  );
}

function cacheOf(cache: Members, path: Path, { note }: Saying): Members {
  const made: Record<string, unknown> = { ...cache };
  if (cache.mode === 'semantic') {
    made.mode = 'simple';
    note([...path, 'mode'], 'is "simple" here: equal requests get the same answer, similar ones do not');
  }
  const age = cache.max_age;
  if (typeof age !== 'number') return made;
  const kept = Math.min(Math.max(Math.round(age), AGES.least), AGES.most);
  if (kept !== age) note([...path, 'max_age'], `is ${kept} here: from ${AGES.least} to ${AGES.most} seconds`);
  return { ...made, max_age: kept };
}

function retryOf(retry: Members, path: Path, { note }: Saying): Members {
  const made: Record<string, unknown> = { ...retry };
  if (typeof retry.attempts === 'number' && retry.attempts > MOST_ATTEMPTS) {
    made.attempts = MOST_ATTEMPTS;
    note([...path, 'attempts'], `is ${MOST_ATTEMPTS} here, the most there is`);
  }
  const codes = retry.on_status_codes;
  if (!Array.isArray(codes) || !codes.some((code) => DENIED.has(code))) return made;
  const kept = codes.filter((code) => !DENIED.has(code));
  note([...path, 'on_status_codes'], 'is without 246 and 446 here: what a guardrail denies is not asked for again');
  const { on_status_codes: _, ...rest } = made;
  return kept.length > 0 ? { ...rest, on_status_codes: kept } : { ...rest, attempts: 0 };
}
