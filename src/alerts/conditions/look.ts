import type { Budgets } from '../../core/budgets.ts';
import type { Store } from '../../storage/store.ts';
import type { RequestLog } from '../../telemetry/request-log.ts';
import type { Condition, ConditionOf, ConditionType } from '../condition.ts';
import type { Finding } from '../telling.ts';

/** Whose things a rule may look at: those of a workspace, or of the whole organisation. */
export interface Reach {
  readonly organisationId: string;
  readonly workspaceId: string | null;
}

export interface LookDeps {
  readonly store: Store;
  readonly budgets: Pick<Budgets, 'levels'>;
  readonly log: Pick<RequestLog, 'analyse'>;
  readonly now: () => number;
}

/** What a rule has found at present. */
export interface Looked {
  readonly findings: readonly Finding[];
  /** What keeps it from finding more. */
  readonly problem: string | null;
}

/** Looks at what one type of conditions is about. Throws when it cannot be known at present: nothing is told then. */
export type Look<Type extends ConditionType> = (
  condition: ConditionOf<Type>,
  reach: Reach,
  deps: LookDeps,
) => Promise<Looked>;

export type AnyLook = (condition: Condition, reach: Reach, deps: LookDeps) => Promise<Looked>;

export const found = (...findings: readonly Finding[]): Looked => ({ findings, problem: null });

/** `83.2 %` */
export const inPercent = (value: number): string => `${Number(value.toFixed(1))} %`;

/** `2 minutes` */
export function inWords(seconds: number): string {
  for (const [unit, size] of [
    ['day', 86_400],
    ['hour', 3_600],
    ['minute', 60],
  ] as const)
    if (seconds >= size && seconds % size === 0) return `${seconds / size} ${unit}${seconds === size ? '' : 's'}`;
  return `${seconds} second${seconds === 1 ? '' : 's'}`;
}

/** `$8.32`; of amounts below a cent, the first two digits. */
export const inDollars = (value: number): string =>
  `$${value >= 0.01 ? Number(value.toFixed(2)) : withoutZeros(Number(value.toPrecision(2)).toFixed(12))}`;

const withoutZeros = (text: string): string => text.replace(/\.?0+$/, '');
