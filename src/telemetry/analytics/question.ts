import type { LogFilter, LogReach } from '../log-query.ts';
import type { By } from './kinds.ts';
import type { MetricName } from './series.ts';
import type { TimeRange } from './time-range.ts';

/** Graphs that are drawn from the request log. */
export const LOG_GRAPHS = [
  'all',
  'requests',
  'cost',
  'latency',
  'first-byte',
  'tokens',
  'bytes',
  'users',
  'users/requests',
  'errors',
  'errors/rate',
  'errors/origins',
  'errors/status-codes',
] as const;
export type LogGraphName = (typeof LOG_GRAPHS)[number];

/** By what entries can be grouped, and what the members of such a list are called. */
export const GROUPS = {
  users: 'user_id',
  'ai-models': 'model',
  providers: 'provider',
  'virtual-keys': 'virtual_key',
  'api-keys': 'api_key_id',
  'status-codes': 'status',
  workspaces: 'workspace_id',
  'error-codes': 'error_code',
} as const;
/** Groups by what is worked out of an entry. */
export const MADE_GROUPS = { endpoints: 'endpoint', verdicts: 'verdict', 'cache-statuses': 'cache_status' } as const;
export type MadeGroup = (typeof MADE_GROUPS)[keyof typeof MADE_GROUPS];
export type GroupColumn = (typeof GROUPS)[keyof typeof GROUPS];

interface Asked {
  readonly filter: LogFilter;
  readonly range: TimeRange;
}

export interface GraphQuestion extends Asked {
  readonly kind: 'graph';
  /** How long a point is to be; left out: as short as it can be. */
  readonly bucketMs?: number;
  readonly name: LogGraphName;
}

export interface GroupQuestion extends Asked {
  readonly kind: 'group';
  readonly by: GroupColumn | MadeGroup | { readonly metadata: string };
  readonly current_page: number;
  readonly page_size: number;
}

/** Which values there are to choose from. */
export interface FacetQuestion extends Asked {
  readonly kind: 'facets';
  /** Of each; those with the most requests come first. */
  readonly limit: number;
}

/** What entries amount to, all sums at once: for those who watch figures, and show no page. */
export interface SumsQuestion extends Asked {
  readonly kind: 'sums';
  readonly by: By | null;
}

/** A figure over time, told apart by one thing, or by that and then by another. */
export interface SeriesQuestion extends Asked {
  readonly kind: 'series';
  readonly bucketMs?: number;
  readonly metric: MetricName;
  readonly rankBy: MetricName;
  readonly by: By;
  readonly then: By | null;
  /** Those that have most of `rankBy`; the others are taken together. */
  readonly limit: number;
}

/** What each guardrail came to (`hits/`). */
export interface GuardrailQuestion {
  readonly kind: 'guardrails';
  readonly reach: LogReach;
  readonly range: TimeRange;
}

/** The newest entries that a guardrail objected to; null: any of them. */
export interface HitQuestion {
  readonly kind: 'hits';
  readonly reach: LogReach;
  readonly guardrail: string | null;
  readonly limit: number;
}

/** What is asked of the log's reader. */
export type Question =
  | GraphQuestion
  | GroupQuestion
  | FacetQuestion
  | SumsQuestion
  | SeriesQuestion
  | GuardrailQuestion
  | HitQuestion;
