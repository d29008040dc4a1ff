import type { Ending } from './ending.ts';
import { failure } from './ending.ts';
import type { RunError } from './run.ts';

/** Ends a run from wherever it is noticed that it cannot go on. */
export class RunEnds extends Error {
  readonly ending: Ending;

  constructor(ending: Ending) {
    super(ending.status === 'failed' ? ending.error.message : `The run is ${ending.status}.`);
    this.name = 'RunEnds';
    this.ending = ending;
  }
}

export function failRun(code: RunError['code'], message: string): never {
  throw new RunEnds(failure(code, message));
}

const LONGEST_MESSAGE = 1_000;
const PROMPT_CODES = new Set([
  'context_length_exceeded',
  'content_filter',
  'content_policy_violation',
  'invalid_prompt',
  'string_above_max_length',
  'guardrail_denied',
]);
const PROMPT_WORDS =
  /context (length|window)|maximum context|too (long|many tokens)|content (filter|policy)|safety|prompt/i;

/** What the refusal of a model call means for its run. */
export function refusedCall(status: number, body: string): RunEnds {
  const { message, code } = errorIn(body);
  const text = (message ?? `The model call was answered with status ${status}.`).slice(0, LONGEST_MESSAGE);
  return new RunEnds(failure(codeOf(status, code, message), text));
}

/** The same for an error that came in the middle of an answer. */
export function brokenAnswer(body: string): RunEnds {
  const { message, code } = errorIn(body);
  const text = (message ?? 'The answer of the model broke off.').slice(0, LONGEST_MESSAGE);
  return new RunEnds(failure(code === 'rate_limit_exceeded' ? code : 'server_error', text));
}

function codeOf(status: number, code: string | null, message: string | null): RunError['code'] {
  // 412: a budget is used up, as with insufficient_quota.
  if (status === 429 || status === 412) return 'rate_limit_exceeded';
  const isRefused = status === 400 || status === 413 || status === 422 || status === 446;
  if (!isRefused) return 'server_error';
  const isAboutPrompt = status === 446 || (code !== null && PROMPT_CODES.has(code)) || PROMPT_WORDS.test(message ?? '');
  return isAboutPrompt ? 'invalid_prompt' : 'server_error';
}

function errorIn(body: string): { message: string | null; code: string | null } {
  try {
    const { error } = JSON.parse(body) as { error?: { message?: unknown; code?: unknown } | string };
    if (typeof error === 'string') return { message: error, code: null };
    return {
      message: typeof error?.message === 'string' && error.message !== '' ? error.message : null,
      code: typeof error?.code === 'string' ? error.code : null,
    };
  } catch {
    return { message: null, code: null };
  }
}
