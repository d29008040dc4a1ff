import { GatewayError } from '../core/errors.ts';
import type { CheckOutcome, HookResult, HookResults } from '../core/hook-results.ts';
import type { Hook } from './check.ts';
import type { Actions, Guardrail } from './guardrail.ts';

export type { CheckOutcome, HookResult, HookResults };

export function resultOf(
  { id, versionId, actions }: Guardrail,
  outcomes: readonly CheckOutcome[],
  { startedAt, ms, isCallers = false }: { startedAt: number; ms: number; isCallers?: boolean },
): HookResult {
  const verdict = outcomes.length === 0 ? null : outcomes.every(hasPassed);
  return {
    type: 'guardrail',
    id,
    guardrail_version_id: versionId,
    verdict,
    deny: actions.deny,
    async: actions.async,
    skipped: verdict === null,
    transformed: outcomes.some(isTransformed),
    checks: outcomes,
    feedback: verdict === null ? null : feedbackOf(actions, verdict, outcomes),
    execution_time: ms,
    created_at: writtenTime(startedAt),
    ...(isCallers && { isCallers }),
  };
}

const hasPassed = ({ verdict }: CheckOutcome) => verdict;
const isTransformed = ({ transformed }: CheckOutcome) => transformed;

let lastTime = Number.NaN;
let lastWritten = '';

/** Checks of one guardrail begin within a millisecond, mostly, so it is mostly written already. */
export function writtenTime(ms: number): string {
  if (ms !== lastTime) {
    lastWritten = new Date(ms).toISOString();
    lastTime = ms;
  }
  return lastWritten;
}

function feedbackOf(actions: Actions, verdict: boolean, outcomes: readonly CheckOutcome[]): HookResult['feedback'] {
  const given = (verdict ? actions.on_success : actions.on_fail)?.feedback;
  if (!given) return null;
  const named = (isMeant: (outcome: CheckOutcome) => boolean) =>
    outcomes
      .filter(isMeant)
      .map(({ id }) => id)
      .join(', ');
  return {
    value: given.value,
    weight: given.weight,
    metadata: {
      ...(given.metadata !== '' && { metadata: given.metadata }),
      successfulChecks: named((outcome) => outcome.verdict),
      failedChecks: named((outcome) => !outcome.verdict),
      erroredChecks: named((outcome) => outcome.error !== null),
    },
  };
}

const hasFailed = ({ verdict, async: isAside }: HookResult) => verdict === false && !isAside;

const isDenial = (result: HookResult) => result.deny && hasFailed(result);

export const isDenied = (results: readonly HookResult[]): boolean => results.some(isDenial);

export const isFailed = (results: readonly HookResult[]): boolean => results.some(hasFailed);

/** What many looks at one body came to: the first failure of each guardrail stands. */
export const joined = (earlier: readonly HookResult[], now: readonly HookResult[]): HookResult[] =>
  now.map((result, index) => {
    const before = earlier[index];
    if (!before || before.verdict === null) return result;
    const kept = before.verdict ? result : before;
    return { ...kept, transformed: before.transformed || result.transformed };
  });

/** The status of an answer that is given on although something failed. */
export const FAILED = 246;

/** Without what is for the log alone, and without what only those may know who wrote the guardrail. */
export const toldToCaller = ({ before_request_hooks, after_request_hooks }: HookResults): HookResults => ({
  before_request_hooks: before_request_hooks.map(toldOf),
  after_request_hooks: after_request_hooks.map(toldOf),
});

const toldOf = ({ isCallers = false, ...result }: HookResult): HookResult => ({
  ...result,
  checks: result.checks.map(({ told = null, ...outcome }) => ({
    ...outcome,
    data: isCallers ? outcome.data : told,
    log: null,
  })),
});

/** Nothing of it leaves: neither to the provider nor to the client. */
export class GuardrailDenied extends GatewayError {
  readonly hook: Hook;
  readonly results: HookResults;

  constructor(hook: Hook, results: HookResults, headers: Record<string, string> = {}) {
    super('guardrail_denied', factsOf(hook, results), headers);
    this.hook = hook;
    this.results = results;
  }

  override with(headers: Record<string, string>): GuardrailDenied {
    return new GuardrailDenied(this.hook, this.results, { ...this.headers, ...headers });
  }

  override body() {
    return { ...super.body(), hook_results: toldToCaller(this.results) };
  }
}

function factsOf(hook: Hook, { before_request_hooks, after_request_hooks }: HookResults): [string, string, string] {
  const denying = (hook === 'input' ? before_request_hooks : after_request_hooks).filter(isDenial);
  const failed = denying.flatMap(({ checks }) => checks.filter(({ verdict }) => !verdict));
  const checks = failed.map(({ id, error }) =>
    error ? `${id} could not look (${error.message})` : `${id} does not pass`,
  );
  const guardrails = denying.map(({ id }) => `guardrail ${id}`);
  return [hook === 'input' ? 'request' : 'answer', guardrails.join(' and '), checks.join(', ')];
}
