import type {
  JsonObject,
  ModelReply,
  ModelRequest,
  Part,
  TextPart,
  ToolResultPart,
  Turn,
} from '../../src/dialects/ir.ts';
import type { ServerSentEvent } from '../../src/dialects/sse.ts';
import type { Random } from './random.ts';

/**
 * A dialect that has no inbound half has no decoder of requests and no encoder of replies, which its laws need. For the
 * tests alone, this is the vendor: it reads what we write and writes what we read.
 */
export interface VendorSide {
  readRequest(body: JsonObject, model: string): ModelRequest;
  /** The reply without what the vendor would never say. */
  sayable(reply: ModelReply): ModelReply;
  writeReply(reply: ModelReply): JsonObject;
  writeStream(reply: ModelReply, pieces: (text: string) => string[]): ServerSentEvent[];
}

/** Text in pieces of random lengths. */
export const randomPieces =
  (random: Random) =>
  (text: string): string[] => {
    const pieces: string[] = [];
    for (const character of text) {
      if (pieces.length === 0 || random.chance(0.4)) pieces.push('');
      pieces[pieces.length - 1] += character;
    }
    return pieces;
  };

/** Results answer calls that were made, each once and in order, as in every real conversation. */
export function answered(request: ModelRequest): ModelRequest {
  let calls: string[] = [];
  let count = 0;
  const turns = request.turns.map((turn): Turn => {
    if (turn.role === 'tool') {
      const parts = (turn.parts as readonly ToolResultPart[]).slice(0, calls.length);
      return { ...turn, parts: parts.map((part, index) => ({ ...part, id: calls[index]! })) };
    }
    const parts = turn.parts.map((part) => (part.type === 'tool-call' ? { ...part, id: `call_${count++}` } : part));
    calls = parts.flatMap((part) => (part.type === 'tool-call' ? [part.id] : []));
    return { ...turn, parts };
  });
  return { ...request, turns };
}

/** Parts of one kind in a row as one, for vendors that do not tell where one ends. */
export function joinedRuns(parts: readonly Part[], isJoined: (part: Part) => boolean): Part[] {
  const joined: Part[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    if (last?.type === part.type && 'text' in last && 'text' in part && isJoined(last) && isJoined(part))
      joined[joined.length - 1] = { ...last, text: `${last.text}${part.text}` } as Part;
    else joined.push(part);
  }
  return joined;
}

/** Tokens with their bytes, which vendors leave out and we add. */
export const withBytes = (part: TextPart): TextPart =>
  part.logprobs
    ? { ...part, logprobs: part.logprobs.map((each) => ({ ...each, bytes: [...Buffer.from(each.token)] })) }
    : part;
