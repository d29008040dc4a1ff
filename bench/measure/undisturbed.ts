import type { Span } from '../load/job.ts';
import { type Percentiles, percentiles } from '../numbers.ts';

/** What queued up while the machine stood still needs a while to clear. */
const CLEARING_MS = 20;

/** All calls, and those that were not under way while the machine stood still; all again where these are too few. */
export function measured(
  calls: readonly Span[],
  stalls: readonly Span[],
): { readonly all: Percentiles; readonly undisturbed: Percentiles } {
  const describe = (some: readonly Span[]) => percentiles(some.map(({ from, to }) => to - from));
  const isUndisturbed = (call: Span) =>
    !stalls.some((stall) => stall.from <= call.to && stall.to + CLEARING_MS >= call.from);
  const undisturbed = calls.filter(isUndisturbed);
  const all = describe(calls);
  return { all, undisturbed: undisturbed.length < calls.length / 2 ? all : describe(undisturbed) };
}
