import type { AlertStateRow } from '../storage/schema.ts';
import type { Finding, TellingType } from './telling.ts';

/** What changes about one thing that a rule watches. */
export interface Change {
  /** Null: nothing is told. */
  readonly type: Exclude<TellingType, 'alert.test'> | null;
  readonly finding: Finding;
  readonly since: number;
}

export interface Judged {
  /** Null: what goes on is not told again. */
  readonly repeatAfterMs: number | null;
  readonly now: number;
}

/**
 * What is to be told, of what was told before and of what is found now. A thing is told when it begins and when it gets
 * worse, again after a while, and when it is over.
 */
export function judge(
  states: readonly AlertStateRow[],
  findings: readonly Finding[],
  { repeatAfterMs, now }: Judged,
): Change[] {
  const known = new Map(states.map((state) => [state.subject, state]));
  const changes: Change[] = [];
  for (const finding of findings) {
    const state = known.get(finding.subject);
    known.delete(finding.subject);
    if (!state) changes.push({ type: 'alert.fired', finding, since: now });
    else if (finding.level > state.level) changes.push({ type: 'alert.fired', finding, since: state.since });
    else if (repeatAfterMs !== null && now - state.told_at >= repeatAfterMs)
      changes.push({ type: 'alert.repeated', finding, since: state.since });
    else if (finding.level < state.level || JSON.stringify(finding) !== state.found)
      changes.push({ type: null, finding, since: state.since });
  }
  for (const { found, since } of known.values())
    changes.push({ type: 'alert.over', finding: JSON.parse(found) as Finding, since });
  return changes;
}
