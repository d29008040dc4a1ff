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

interface Delta {
  readonly content?: string | null;
  readonly refusal?: string | null;
  readonly tool_calls?: readonly {
    readonly index?: number;
    readonly id?: string | null;
    readonly function?: { readonly name?: string | null; readonly arguments?: string | null };
  }[];
}

interface Chunk {
  readonly choices?: readonly {
    readonly delta?: Delta;
    readonly message?: Delta;
    readonly finish_reason?: string | null;
  }[];
  readonly usage?: { readonly prompt_tokens?: number; readonly completion_tokens?: number } | null;
  readonly error?: unknown;
}

/** An error is short; of anything else not more is held. */
const LONGEST_ERROR = 64 << 10;

/** Reads the answer to a chat call piece by piece. An answer that fails, or does not end as it should, ends the run. */
export async function* readAnswer(response: Response): AsyncGenerator<Piece> {
  if (!response.ok) throw refusedCall(response.status, (await response.text()).slice(0, LONGEST_ERROR));
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    yield* piecesIn(parsed(await response.text()));
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

function* piecesIn({ choices, usage }: Chunk): Generator<Piece> {
  const choice = choices?.[0];
  const delta = choice?.delta ?? choice?.message;
  if (typeof delta?.content === 'string' && delta.content) yield { type: 'text', text: delta.content };
  if (typeof delta?.refusal === 'string' && delta.refusal) yield { type: 'refusal', text: delta.refusal };
  const calls = Array.isArray(delta?.tool_calls) ? delta.tool_calls : [];
  for (const [position, call] of calls.entries()) {
    yield {
      type: 'call',
      index: call?.index ?? position,
      ...(call?.id && { id: String(call.id) }),
      ...(call?.function?.name && { name: String(call.function.name) }),
      arguments: argumentsText(call?.function?.arguments),
    };
  }
  if (choice?.finish_reason) yield { type: 'finish', reason: choice.finish_reason };
  if (usage) yield { type: 'usage', prompt: usage.prompt_tokens ?? 0, completion: usage.completion_tokens ?? 0 };
}
