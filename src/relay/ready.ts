import type { TargetSettings } from '../routing/plan.ts';
import type { OpenCall, Prepared } from './call.ts';
import type { Guarding } from './guarding/exchange-guard.ts';
import { keptAfterVerdict } from './guarding/kept-guard.ts';
import { openKeptResponse, type ResponseKeeper } from './kept-response.ts';
import { asGiven, type PrepareDeps, prepare } from './prepare.ts';
import { type FetchDeps, fetchMedia, MediaWanted } from './remote-media.ts';
import type { Target } from './target.ts';

export interface ReadyDeps extends PrepareDeps, FetchDeps {
  readonly responses?: ResponseKeeper;
}

export interface Ready {
  /** As far as the call tells it; what it may take is estimated from this. */
  readonly prepared: Prepared;
  /** Fetches what the call does not hold itself, when it may run. Null: it lacks nothing. */
  readonly supply: (() => Promise<Prepared>) | null;
  /** Called with the answer that has passed the guardrails. */
  readonly onPassed?: (bytes: Uint8Array, type: string) => Promise<void>;
}

export interface Readying {
  readonly target: Target;
  readonly settings: TargetSettings;
  /** Whether the body is read for this target. */
  readonly isRead: boolean;
  readonly guarding: Guarding | null;
}

/** A call in the words of its target. Throws when that is not possible. */
export function ready(call: OpenCall, readying: Readying, deps: ReadyDeps): Ready | Promise<Ready> {
  if (call.endpoint === 'createModelResponse' && readying.isRead) return readyToKeep(call, readying, deps);
  return readyNow(call, readying, deps);
}

/** Providers without the Responses API keep no conversation; the gateway does it for them. */
async function readyToKeep(call: OpenCall, readying: Readying, deps: ReadyDeps): Promise<Ready> {
  const { responses } = deps;
  if (!call.isJson || !call.body || !responses) return readyNow(call, readying, deps);
  const kept = await openKeptResponse(call.principal, call.body.head, responses);
  const later = readying.guarding?.judgesAnswers ? keptAfterVerdict(kept) : null;
  const made = readyNow({ ...call, kept: later?.kept ?? kept }, readying, deps);
  return later ? { ...made, onPassed: later.passed } : made;
}

function readyNow(call: OpenCall, { target, settings }: Readying, deps: ReadyDeps): Ready {
  const again = (supplies: Partial<OpenCall>) => prepare({ ...call, ...supplies }, target, settings, deps);
  try {
    const prepared = prepare(call, target, settings, deps);
    const { bareCalls } = prepared;
    const { thoughts: kept } = deps;
    if (!bareCalls || !kept) return { prepared, supply: null };
    const supply = async () => {
      const thoughts = await kept.find(call.principal, bareCalls);
      return thoughts.size > 0 ? again({ thoughts }) : prepared;
    };
    return { prepared, supply };
  } catch (error) {
    if (!(error instanceof MediaWanted)) throw error;
    const { wanted, bareCalls } = error;
    const supply = async () => {
      const files = await fetchMedia(wanted, { upstream: deps.upstream, signal: call.request.signal });
      const thoughts = bareCalls.length > 0 ? await deps.thoughts?.find(call.principal, bareCalls) : undefined;
      return again({ files, thoughts: thoughts ?? new Map() });
    };
    return { prepared: asGiven(call), supply };
  }
}
