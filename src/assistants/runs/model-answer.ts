import { SseParser } from '../../dialects/sse.ts';
import { brokenAnswer, failRun, refusedCall } from './failures.ts';

/** A part of what a model says, as it comes in. */
export type Piece =
  | { readonly type: 'text' | 'refusal'; readonly text: string }
  | {
      readonly type: 'call';
      /** Which of the calls of this answer, as the model counts them. */
      readonly index: number;
      readonly id?: string;
      readonly name?: string;
      readonly arguments: string;
    }
  | { readonly type: 'finish'; readonly reason: string }
  | { readonly type: 'usage'; readonly prompt: number; readonly completion: number };

/** As a model should say it. Nothing of it is certain: whatever has another form counts as absent. */
interface Delta {
  readonly content?: unknown;
  readonly refusal?: unknown;
  readonly tool_calls?: unknown;
}

interface ToolCallDelta {
  readonly index?: number;
  readonly id?: unknown;
  readonly function?: { readonly name?: unknown; readonly arguments?: unknown };
}

interface Chunk {
  readonly choices?: readonly {
    readonly delta?: Delta;
    readonly message?: Delta;
    readonly finish_reason?: string | null;
  }[];
  readonly usage?: { readonly prompt_tokens?: unknown; readonly completion_tokens?: unknown } | null;
  readonly error?: unknown;
}

/** An error is short; of anything else not more is held. */
const LONGEST_ERROR = 64 << 10;

/** Reads the answer to a chat call piece by piece. An answer that fails, or does not end as it should, ends the run. */
export async function* readAnswer(response: Response): AsyncGenerator<Piece> {
  if (!response.ok) throw refusedCall(response.status, (await response.text()).slice(0, LONGEST_ERROR));
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    const whole = parsed(await response.text());
    if (!whole.choices?.[0]?.message) failRun('server_error', 'The answer of the model holds no message.');
    yield* piecesIn(whole);
    return;
  }
  let hasFinished = false;
  for await (const data of eventsOf(response)) {
    if (data === '[DONE]') continue;
    for (const piece of piecesIn(parsed(data))) {
      hasFinished ||= piece.type === 'finish';
      yield piece;
    }
  }
  if (!hasFinished) throw brokenAnswer('');
}

async function* eventsOf(response: Response): AsyncGenerator<string> {
  const parser = new SseParser();
  const reader = response.body!.getReader();
  let isOver = false;
  try {
    for (;;) {
      const { events, isLast } = await readEvents(reader, parser);
      for (const { data } of events) yield data;
      if (isLast) break;
    }
    isOver = true;
  } finally {
    if (!isOver) reader.cancel().catch(() => {});
  }
}

/** A connection that breaks is cut without a reason; and a stream may be none that can be read. */
async function readEvents(reader: { read(): Promise<{ value?: Uint8Array; done: boolean }> }, parser: SseParser) {
  try {
    const { value, done } = await reader.read();
    return { events: done ? parser.end() : parser.push(value!), isLast: done };
  } catch {
    throw brokenAnswer('');
  }
}

function parsed(text: string): Chunk {
  let chunk: unknown;
  try {
    chunk = JSON.parse(text);
  } catch {
    chunk = null;
  }
  if (chunk === null || typeof chunk !== 'object') failRun('server_error', 'The answer of the model is not JSON.');
  if ((chunk as Chunk).error) throw brokenAnswer(text);
  return chunk as Chunk;
}

/** Some providers give them as an object. */
const argumentsText = (given: unknown): string =>
  typeof given === 'string' ? given : given === undefined || given === null ? '' : JSON.stringify(given);

/** Some providers say text in parts. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part) => (part?.type === 'text' && typeof part.text === 'string' ? part.text : '')).join('');
}

const isCount = (given: unknown): given is number => Number.isSafeInteger(given) && (given as number) >= 0;

function* piecesIn({ choices, usage }: Chunk): Generator<Piece> {
  const choice = choices?.[0];
  const delta = choice?.delta ?? choice?.message;
  const text = textOf(delta?.content);
  if (text) yield { type: 'text', text };
  if (typeof delta?.refusal === 'string' && delta.refusal) yield { type: 'refusal', text: delta.refusal };
  yield* callsIn(delta);
  if (choice?.finish_reason) yield { type: 'finish', reason: choice.finish_reason };
  yield* usageIn(usage);
}

/** Numbers that cannot be are none: what was sent and said is counted here then. */
function* usageIn(usage: Chunk['usage']): Generator<Piece> {
  const { prompt_tokens: prompt, completion_tokens: completion } = usage ?? {};
  if (prompt === undefined && completion === undefined) return;
  const counts = { prompt: prompt ?? 0, completion: completion ?? 0 };
  if (isCount(counts.prompt) && isCount(counts.completion))
    yield { type: 'usage', prompt: counts.prompt, completion: counts.completion };
}

function* callsIn(delta: Delta | undefined): Generator<Piece> {
  const calls: (ToolCallDelta | null)[] = Array.isArray(delta?.tool_calls) ? delta.tool_calls : [];
  for (const [position, call] of calls.entries()) {
    const name = call?.function?.name;
    yield {
      type: 'call',
      index: call?.index ?? position,
      ...(call?.id ? { id: String(call.id) } : {}),
      ...(typeof name === 'string' && name !== '' && { name }),
      arguments: argumentsText(call?.function?.arguments),
    };
  }
}
