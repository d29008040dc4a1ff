import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from '../core/errors.ts';
import { newObjectId } from '../core/object-ids.ts';
import type { Usage } from '../core/usage.ts';
import type { Gates, Verdict } from './gates.ts';
import { usageIn } from './usage.ts';

/** What became of one request: a line of the output file, or of the error file. */
export interface Result {
  readonly id: string;
  readonly isError: boolean;
  /** JSON. */
  readonly response: string | null;
  readonly error: string | null;
  /** What the provider counted, where it said so. */
  readonly usage: Usage | null;
}

export interface ExecuteOptions {
  readonly batch: string;
  /** Whose limits of the provider it meets. */
  readonly gateKey: string;
  readonly gates: Gates;
  readonly call: (signal: AbortSignal) => Promise<Response>;
  /** No further request is made once it has fired; the one under way may end. */
  readonly stopping: AbortSignal;
  /** Ends the request under way. */
  readonly signal: AbortSignal;
  readonly random?: () => number;
  /** The first wait before another try. */
  readonly firstWaitMs?: number;
}

/** Providers that refuse are asked longer than those that fail: they said that they will answer later. */
const MOST_TRIES: Record<Exclude<Verdict, 'well'>, number> = { refused: 40, unwell: 10 };
const LEAST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 60_000;
/** A provider that asks for more than this is asked again sooner. */
const LONGEST_RETRY_AFTER_MS = 600_000;
const LARGEST_ANSWER = 64 << 20;
const SHOWN_CHARACTERS = 500;

/**
 * Makes one request, and makes it again while that may help. Null: it was stopped, and has no result. Failures are
 * results, too; only the provider's last answer counts.
 */
export async function execute(options: ExecuteOptions): Promise<Result | null> {
  const { batch, gateKey, gates, stopping, signal, random = Math.random, firstWaitMs = 1_000 } = options;
  const tries = { refused: 0, unwell: 0 };
  for (;;) {
    const permit = await gates.enter(gateKey, batch, stopping);
    if (!permit) return null;
    const answer = await ask(options);
    permit.release(answer.verdict, answer.retryAfterMs);
    if (signal.aborted) return null;
    if (answer.verdict === 'well' || ++tries[answer.verdict] >= MOST_TRIES[answer.verdict]) return resultOf(answer);
    if (!answer.mayHelp) return resultOf(answer);
    const fullMs = Math.min(LONGEST_WAIT_MS, firstWaitMs * 2 ** (tries.refused + tries.unwell - 1));
    const waitMs = Math.max(answer.retryAfterMs ?? fullMs * (0.5 + random() / 2), LEAST_WAIT_MS);
    try {
      await sleep(waitMs, undefined, { signal: stopping });
    } catch {
      return null;
    }
  }
}

interface Answer {
  readonly verdict: Verdict;
  /** Whether another try may end better. */
  readonly mayHelp: boolean;
  readonly retryAfterMs?: number;
  readonly status: number;
  readonly requestId: string;
  /** Of JSON; null: there was no body to speak of, and `why` says what was wrong. */
  readonly body: string | null;
  readonly usage?: Usage | null;
  readonly why?: string;
}

async function ask({ call, signal }: ExecuteOptions): Promise<Answer> {
  let response: Response;
  let text: string | null;
  try {
    response = await call(signal);
    text = await textOf(response);
  } catch (error) {
    const why = `The answer broke off: ${error instanceof GatewayError ? error.message : 'the connection ended.'}`;
    return { verdict: 'unwell', mayHelp: true, status: 502, requestId: '', body: null, why };
  }
  const { status, headers } = response;
  const known = { status, requestId: headers.get('x-request-id') ?? headers.get('x-gateway-request-id') ?? '' };
  if (text === null)
    return {
      ...known,
      verdict: 'well',
      mayHelp: false,
      body: null,
      why: `The answer is larger than ${LARGEST_ANSWER} bytes.`,
    };
  const { body, usage } = oneLine(text);
  const why =
    body === null ? `The answer, of status ${status}, is not JSON: ${text.slice(0, SHOWN_CHARACTERS)}` : undefined;
  if (status === 429)
    return { ...known, verdict: 'refused', mayHelp: true, retryAfterMs: retryAfter(headers), body, why };
  if (status === 408 || status >= 500)
    return { ...known, verdict: 'unwell', mayHelp: status !== 501, retryAfterMs: retryAfter(headers), body, why };
  if (response.ok && body === null) return { ...known, verdict: 'unwell', mayHelp: true, body, why };
  return { ...known, verdict: 'well', mayHelp: false, body, usage, why };
}

function resultOf({ status, requestId, body, usage = null, why = '' }: Answer): Result {
  const id = newObjectId('batchRequest');
  const isGood = status >= 200 && status < 300;
  if (body === null && isGood)
    return {
      id,
      isError: true,
      response: null,
      error: JSON.stringify({ code: 'invalid_response', message: why }),
      usage,
    };
  const answered = body ?? JSON.stringify({ error: { message: why, type: 'api_error', param: null, code: null } });
  const response = `{"status_code":${status},"request_id":${JSON.stringify(requestId)},"body":${answered}}`;
  return { id, isError: !isGood, response, error: null, usage };
}

/** Valid JSON as it came, without line ends: between its tokens they mean nothing, and inside a string there are none. */
function oneLine(text: string): { readonly body: string | null; readonly usage: Usage | null } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { body: null, usage: null };
  }
  // PostgreSQL stores no text with half a character in it; where JSON came as UTF-8 there is none.
  return { body: text.replace(/[\r\n]+/g, ' ').trim(), usage: usageIn(value) };
}

const decoder = new TextDecoder();

async function textOf(response: Response): Promise<string | null> {
  // Most answers say how long they are, and those are not made into a stream first.
  if (Number(response.headers.get('content-length') ?? Number.NaN) <= LARGEST_ANSWER) return response.text();
  if (!response.body) return '';
  const pieces: Uint8Array[] = [];
  let size = 0;
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return decoder.decode(pieces.length === 1 ? pieces[0] : Buffer.concat(pieces));
    size += value.byteLength;
    if (size > LARGEST_ANSWER) {
      await reader.cancel().catch(() => {});
      return null;
    }
    pieces.push(value);
  }
}

/** Seconds, or a date; `retry-after-ms` is more exact. */
export function retryAfter(headers: Headers, now: number = Date.now()): number | undefined {
  const exact = headers.get('retry-after-ms');
  const rough = headers.get('retry-after');
  const ms = exact && /^\d+(\.\d+)?$/.test(exact) ? Number(exact) : inMs(rough, now);
  return ms === undefined || Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), LONGEST_RETRY_AFTER_MS);
}

function inMs(text: string | null, now: number): number | undefined {
  if (text === null) return undefined;
  return /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) * 1_000 : Date.parse(text) - now;
}
