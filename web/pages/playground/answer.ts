import { api, send } from '../../api/client.ts';
import { isRecord, type Json, type Turn, textIn } from '../../conversation/parts.ts';
import { readExchange } from '../../conversation/read.ts';
import { eventsOf, joined } from '../../conversation/stream.ts';
import type { ToolCall } from './draft.ts';

export interface Answer {
  readonly turns: readonly Turn[];
  readonly finish: string | null;
  readonly error: string | null;
  readonly status: number | null;
  readonly requestId: string | null;
  readonly firstMs: number | null;
  readonly totalMs: number | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly cost: number | null;
  /** From the cache or not, where there is one. */
  readonly cache: string | null;
  readonly isStopped: boolean;
}

export const NOTHING: Answer = {
  turns: [],
  finish: null,
  error: null,
  status: null,
  requestId: null,
  firstMs: null,
  totalMs: null,
  inputTokens: null,
  outputTokens: null,
  cost: null,
  cache: null,
  isStopped: false,
};

const SHOWN_EVERY_MS = 70;

/** What came so far, as an answer. */
function read(text: string, isEvents: boolean): Partial<Answer> {
  const body = isEvents ? joined(eventsOf(text)) : null;
  const whole = body ? JSON.stringify(body) : text;
  const exchange = readExchange(null, whole);
  const usage = usageIn(body ?? parsed(text));
  return {
    turns: exchange?.answer ?? [],
    finish: exchange?.finish ?? null,
    error: exchange?.error ?? null,
    ...(usage && { inputTokens: usage.input, outputTokens: usage.output }),
  };
}

function parsed(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

function usageIn(body: Json | null): { input: number; output: number } | null {
  const usage = body?.usage;
  if (!isRecord(usage)) return null;
  return { input: Number(usage.prompt_tokens ?? 0), output: Number(usage.completion_tokens ?? 0) };
}

export interface Wish {
  readonly body: object;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly onPart: (answer: Answer) => void;
}

/** Makes the call and tells of the answer as it comes. Never throws: what went wrong is part of the answer. */
export async function ask({ body, headers, signal, onPart }: Wish): Promise<Answer> {
  const begun = performance.now();
  let answer: Answer = NOTHING;
  const add = (part: Partial<Answer>) => {
    answer = { ...answer, ...part };
    return answer;
  };
  try {
    const response = await send('/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      signal,
    });
    add({
      status: response.status,
      requestId: response.headers.get('x-gateway-request-id'),
      cache: response.headers.get('x-gateway-cache-status'),
    });
    const isEvents = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
    const decoder = new TextDecoder();
    let text = '';
    let shownAt = 0;
    for await (const bytes of response.body ?? []) {
      if (answer.firstMs === null) add({ firstMs: performance.now() - begun });
      text += decoder.decode(bytes, { stream: true });
      if (!isEvents || performance.now() - shownAt < SHOWN_EVERY_MS) continue;
      shownAt = performance.now();
      onPart(add(read(text, true)));
    }
    add({ ...read(text, isEvents), totalMs: performance.now() - begun });
    if (!response.ok && !answer.error)
      add({ error: text.slice(0, 2_000) || `The gateway answered ${response.status}.` });
  } catch (error) {
    const isStopped = signal.aborted;
    add({ totalMs: performance.now() - begun, isStopped });
    if (!isStopped) add({ error: error instanceof Error ? error.message : String(error) });
  }
  return answer;
}

const TRIES = 8;
const FIRST_WAIT_MS = 350;

/** What the call cost, once its entry is in the log; null where that is not known. */
export async function costOf(requestId: string, signal: AbortSignal): Promise<number | null> {
  for (let tries = 0; tries < TRIES && !signal.aborted; tries++) {
    // The log of a busy gateway may come late: each wait is twice the one before, a minute and a half in all.
    await new Promise((done) => setTimeout(done, FIRST_WAIT_MS * 2 ** tries));
    const entry = await api.get('/v1/logs/{id}', { params: { id: requestId }, signal }).catch(() => null);
    if (entry) return entry.cost;
  }
  return null;
}

/** The calls of tools that an answer ends with. */
export const callsIn = ({ turns }: Pick<Answer, 'turns'>): readonly ToolCall[] =>
  turns.flatMap(({ parts }) =>
    parts.flatMap((part) =>
      part.kind === 'call' ? [{ id: part.id ?? part.name, name: part.name, args: textIn(part.args) }] : [],
    ),
  );

export const textOfAnswer = ({ turns }: Pick<Answer, 'turns'>): string =>
  turns.flatMap(({ parts }) => parts.flatMap((part) => (part.kind === 'text' ? [part.text] : []))).join('\n\n');
