import type { PackedHookResults } from '../../core/hook-results.ts';
import type { Earlier } from '../aggregates/arrivals.ts';
import { HOUR_MS } from '../aggregates/grains.ts';
import type { LogRow } from '../log-columns.ts';

/** What one guardrail came to in an hour of a workspace. Whole numbers, which add up and can be taken away again. */
export interface GuardrailCount {
  /** Empty: none is known. */
  readonly organisation_id: string;
  readonly workspace_id: string;
  readonly guardrail: string;
  /** Hours since the epoch, of when calls came. */
  readonly hour: number;
  /** Calls that it looked at. */
  readonly judged: number;
  /** Those that it objected to, and that went on. */
  readonly failed: number;
  /** Those that it refused. */
  readonly denied: number;
  /** The newest calls that it objected to, as JSON: when they came, and their entries. Those that are gone stay named. */
  readonly hits: string;
}

export const COUNT_COLUMNS = [
  'organisation_id',
  'workspace_id',
  'guardrail',
  'hour',
  'judged',
  'failed',
  'denied',
  'hits',
] as const satisfies readonly (keyof GuardrailCount)[];

export type Judged = Pick<LogRow, 'id' | 'created_at' | 'organisation_id' | 'workspace_id' | 'hook_results'>;
type Verdict = 'passed' | 'failed' | 'denied';
/** When a call came, and its entry. */
export type Hit = readonly [at: number, id: string];

/** So many are remembered of an hour, and shown at most. */
export const MOST_HITS = 20;

/**
 * What each guardrail came to in one call, its worst verdict if it looked twice. Those that callers write into their calls bear
 * any name, also that of a stored one, so they are not counted.
 */
function verdictsIn(results: string): Map<string, Verdict> {
  const { before_request_hooks = [], after_request_hooks = [] } = JSON.parse(results) as PackedHookResults;
  const verdicts = new Map<string, Verdict>();
  for (const { id = '', verdict = true, deny, async: isAside, isCallers } of [
    ...before_request_hooks,
    ...after_request_hooks,
  ]) {
    if (verdict === null || isCallers) continue;
    const now = verdict ? 'passed' : deny && !isAside ? 'denied' : 'failed';
    if (verdicts.get(id) === 'denied' || (now === 'passed' && verdicts.has(id))) continue;
    verdicts.set(id, now);
  }
  return verdicts;
}

/** Counts of calls, of those that are taken away, and of those that have moved. */
export class GuardrailCounts {
  readonly #counts = new Map<string, GuardrailCount>();

  /** `times`: -1 where an entry is taken away. */
  add(rows: readonly Judged[], times: 1 | -1 = 1): this {
    for (const row of rows) {
      if (row.hook_results === null) continue;
      for (const [guardrail, verdict] of verdictsIn(row.hook_results)) {
        const isHit = verdict !== 'passed';
        this.#add({
          organisation_id: row.organisation_id ?? '',
          workspace_id: row.workspace_id ?? '',
          guardrail,
          hour: Math.floor(row.created_at / HOUR_MS),
          judged: times,
          failed: verdict === 'failed' ? times : 0,
          denied: verdict === 'denied' ? times : 0,
          hits: JSON.stringify(isHit && times > 0 ? [[row.created_at, row.id]] : []),
        });
      }
    }
    return this;
  }

  /** Guardrails that only observe are heard later: the entry counts for what is known of it now. */
  move(rows: readonly LogRow[], earlier: readonly Earlier[], later: readonly Earlier[]): this {
    const now = new Map(later.map(({ id, hook_results }) => [id, hook_results]));
    const byId = new Map(rows.map((row) => [row.id, row]));
    for (const { id, hook_results: before } of earlier) {
      const after = now.get(id) ?? null;
      if (before === after) continue;
      const row = byId.get(id)!;
      this.add([{ ...row, hook_results: before }], -1).add([{ ...row, hook_results: after }]);
    }
    return this;
  }

  merge(counts: readonly GuardrailCount[]): this {
    for (const count of counts) this.#add(count);
    return this;
  }

  /** In the order of their names, without those that came to nothing. */
  all(): GuardrailCount[] {
    return [...this.#counts]
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([, count]) => count)
      .filter(({ judged, failed, denied, hits }) => judged !== 0 || failed !== 0 || denied !== 0 || hits !== '[]');
  }

  #add(count: GuardrailCount): void {
    const key = JSON.stringify([count.organisation_id, count.workspace_id, count.hour, count.guardrail]);
    const before = this.#counts.get(key);
    this.#counts.set(key, before ? sumOf(before, count) : count);
  }
}

const sumOf = (one: GuardrailCount, other: GuardrailCount): GuardrailCount => ({
  ...one,
  judged: one.judged + other.judged,
  failed: one.failed + other.failed,
  denied: one.denied + other.denied,
  hits: joinHits(one.hits, other.hits),
});

function joinHits(one: string, other: string): string {
  if (other === '[]') return one;
  if (one === '[]') return other;
  return JSON.stringify(newestOf([...hitsIn(one), ...hitsIn(other)]));
}

export const hitsIn = (hits: string): Hit[] => JSON.parse(hits) as Hit[];

/** Each once, the newest first. */
export function newestOf(hits: readonly Hit[]): Hit[] {
  const byId = new Map(hits.map((hit) => [hit[1], hit]));
  const inOrder = [...byId.values()].sort(([at, id], [otherAt, other]) => otherAt - at || (id < other ? 1 : -1));
  return inOrder.slice(0, MOST_HITS);
}

/** The entries of a batch that were not there before. */
export const addedIn = (rows: readonly LogRow[], added: ReadonlySet<string> | null): readonly LogRow[] =>
  added === null ? rows : rows.filter(({ id }) => added.has(id));
