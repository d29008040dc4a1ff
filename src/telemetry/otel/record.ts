import type { TraceContext } from './context.ts';

/** What a call's spans need beside its row in the log, as it goes to the thread: short, because every call sends one. */
export type PostedTrace = readonly [
  traceId: string,
  spanId: string,
  parentId: string | null,
  isSampled: 0 | 1,
  state: string | null,
  /** The pattern of the route, and whether the gateway itself made the call. */
  route: string,
  isInternal: 0 | 1,
  keyName: string | null,
  workspaceSlug: string | null,
  /** The model that answered, and what of the input was written to the provider's cache. */
  answeredBy: string | null,
  cacheWriteTokens: number | null,
  /** What the HTTP request said of its trace, where the message in it said something else: `traceId-spanId`. */
  link: string | null,
  /** What guardrails had found when the spans were built; only of an entry that is told of once more. */
  foundBefore?: string,
];

export interface TraceFacts {
  readonly route: string;
  readonly isInternal: boolean;
  readonly keyName: string | null;
  readonly workspaceSlug: string | null;
  readonly answeredBy: string | null;
  readonly cacheWriteTokens: number | null;
  readonly link: string | null;
}

export const postedTrace = (context: TraceContext, facts: TraceFacts): PostedTrace => [
  context.traceId,
  context.spanId,
  context.parentId,
  context.isSampled ? 1 : 0,
  context.state,
  facts.route,
  facts.isInternal ? 1 : 0,
  facts.keyName,
  facts.workspaceSlug,
  facts.answeredBy,
  facts.cacheWriteTokens,
  facts.link,
];

/** The same for an entry that is told of once more, because guardrails have found more since then. */
export const foundMore = (trace: PostedTrace, foundBefore: string | null): PostedTrace =>
  [...trace.slice(0, 12), foundBefore ?? '{}'] as unknown as PostedTrace;
