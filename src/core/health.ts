import { type Clock, toIso } from './clock.ts';

/** What may be worse than it should be while calls are still answered. */
export const HEALTH_PARTS = [
  'store',
  'redis',
  'log',
  'limits',
  'notify',
  'prices',
  'audit',
  'audit-seal',
  'audit-witness',
  'search',
  'tracing',
  'export',
  'backup',
  'secrets',
] as const;
export type HealthPart = (typeof HEALTH_PARTS)[number];

export interface Degradation {
  readonly part: HealthPart;
  readonly since: string;
  /**
   * What it means for callers and operators: one sentence. Without addresses or secrets, because `/health` is public.
   */
  readonly effect: string;
}

/** What this process knows to be wrong with itself. `GET /health` and the metrics show it. */
export interface Health {
  /** Says that a part is worse than it should be. Said again, it keeps the time of the first word. */
  degraded(part: HealthPart, effect: string): void;
  well(part: HealthPart): void;
  snapshot(): readonly Degradation[];
  /** Something to know that makes nothing worse: read when it is asked for, null while there is nothing to say. */
  noteBy(read: () => string | null): void;
  notes(): readonly string[];
}

export function createHealth({ now }: { now: Clock }): Health {
  const parts = new Map<HealthPart, Degradation>();
  const readers: (() => string | null)[] = [];
  return {
    degraded: (part, effect) => {
      parts.set(part, { part, since: parts.get(part)?.since ?? toIso(now()), effect });
    },
    well: (part) => {
      parts.delete(part);
    },
    snapshot: () => [...parts.values()],
    noteBy: (read) => {
      readers.push(read);
    },
    notes: () => readers.map((read) => read()).filter((note) => note !== null),
  };
}
