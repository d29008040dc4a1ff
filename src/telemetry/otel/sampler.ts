import { type ParentContext, spanIdFrom, type TraceContext, traceIdFrom } from './context.ts';

export const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
export type SamplerName = (typeof SAMPLERS)[number];

export interface SamplerSettings {
  readonly name: SamplerName;
  /** What part of all traces is kept, from 0 to 1. */
  readonly ratio: number;
}

/** Decides when a call begins whether its trace is exported, and gives the call its ids. */
export interface Tracing {
  /** Whether providers are told of the trace: not where metrics alone are exported. */
  readonly propagates: boolean;
  begin(requestId: string, parent: ParentContext | null): TraceContext;
}

export function createTracing({ name, ratio }: SamplerSettings, propagates: boolean): Tracing {
  const isParentBased = name.startsWith('parentbased_');
  const decides = deciderOf(name, ratio);
  return {
    propagates,
    begin: (requestId, parent) => {
      const traceId = parent?.traceId ?? traceIdFrom(requestId);
      return {
        traceId,
        spanId: spanIdFrom(requestId),
        parentId: parent?.spanId ?? null,
        isSampled: parent && isParentBased ? parent.isSampled : decides(traceId),
        state: parent?.state ?? null,
      };
    },
  };
}

function deciderOf(name: SamplerName, ratio: number): (traceId: string) => boolean {
  if (name.endsWith('always_on')) return () => true;
  if (name.endsWith('always_off')) return () => false;
  return (traceId) => isKept(traceId, ratio);
}

const RANDOM_DIGITS = 13;
const RANGE = 16 ** RANDOM_DIGITS;

/** By the last digits of the id, so that every node and every service with this ratio keeps the same traces. */
const isKept = (traceId: string, ratio: number): boolean =>
  ratio >= 1 || Number.parseInt(traceId.slice(-RANDOM_DIGITS), 16) < ratio * RANGE;
