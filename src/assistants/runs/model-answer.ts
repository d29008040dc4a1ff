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
      const { value, done } = await read(reader);
      for (const { data } of done ? parser.end() : parser.push(value!)) yield data;
      if (done) break;
    }
    isOver = true;
  } finally {
    if (!isOver) reader.cancel().catch(() => {});
  }
}

/** A connection that breaks is cut without a reason. */
async function read(reader: { read(): Promise<{ value?: Uint8Array; done: boolean }> }) {
  try {
    return await reader.read();
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

function* piecesIn({ choices, usage }: Chunk): Generator<Piece> {
  const choice = choices?.[0];
  const delta = choice?.delta ?? choice?.message;
  if (typeof delta?.content === 'string' && delta.content) yield { type: 'text', text: delta.content };
  if (delta?.refusal) yield { type: 'refusal', text: delta.refusal };
  for (const [position, call] of (delta?.tool_calls ?? []).entries()) {
    yield {
      type: 'call',
      index: call.index ?? position,
      ...(call.id && { id: call.id }),
      ...(call.function?.name && { name: call.function.name }),
      arguments: call.function?.arguments ?? '',
    };
  }
  if (choice?.finish_reason) yield { type: 'finish', reason: choice.finish_reason };
  if (usage) yield { type: 'usage', prompt: usage.prompt_tokens ?? 0, completion: usage.completion_tokens ?? 0 };
}
