import type { LogFilter } from '../log-query.ts';
import type { TimeRange } from './time-range.ts';

/** Graphs that are drawn from the request log. */
export const LOG_GRAPHS = [
  'requests',
  'cost',
  'latency',
  'tokens',
  'users',
  'users/requests',
  'errors',
  'errors/rate',
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
} as const;
export type GroupColumn = (typeof GROUPS)[keyof typeof GROUPS];

interface Asked {
  readonly filter: LogFilter;
  readonly range: TimeRange;
}

export interface GraphQuestion extends Asked {
  readonly kind: 'graph';
  readonly name: LogGraphName;
}

export interface GroupQuestion extends Asked {
  readonly kind: 'group';
  readonly by: GroupColumn | { readonly metadata: string };
  readonly current_page: number;
  readonly page_size: number;
}

/** What is asked of the log's reader. */
export type Question = GraphQuestion | GroupQuestion;
