import { extended } from './fold.ts';
import type { DialectName, ModelRequest, Part, ReasoningPart, ReplyEvent, Turn } from './ir.ts';

/** A call of a tool by what its maker and every client know of it. */
export interface CallName {
  readonly id: string;
  readonly name: string;
}

/** What a provider signed before it called a tool. It wants that back with the call, and not every client sends it. */
export interface CallThoughts extends CallName {
  /** What it thought before it said a first text. */
  readonly opening: readonly ReasoningPart[];
  /** What it thought right before the call. */
  readonly before: readonly ReasoningPart[];
}

type Signed = ReasoningPart & ({ readonly signature: string } | { readonly redacted: string });

const isSigned = (part: Part): part is Signed =>
  part.type === 'reasoning' && (part.signature !== undefined || part.redacted !== undefined);

/** The signed thoughts of an answer, by the calls that follow them. */
export function thoughtsIn(parts: readonly Part[]): CallThoughts[] {
  const found: CallThoughts[] = [];
  let opening: ReasoningPart[] = [];
  let before: ReasoningPart[] = [];
  let hasSpoken = false;
  for (const part of parts) {
    if (isSigned(part)) before.push(part);
    else if (part.type === 'tool-call') {
      if (opening.length + before.length > 0) found.push({ id: part.id, name: part.name, opening, before });
      opening = [];
      before = [];
      hasSpoken = true;
    } else if (part.type !== 'reasoning' && !hasSpoken) {
      opening = before;
      before = [];
      hasSpoken = true;
    }
  }
  return found;
}

const SOMETHING_SAID: Part = { type: 'text', text: '' };

/** The same for an answer that comes in events. Keeps thoughts and the names of calls, and no other text. */
export class ThoughtWatch {
  readonly #choices = new Map<number, Part[]>();
  #found: CallThoughts[] = [];

  push(event: ReplyEvent): void {
    switch (event.type) {
      case 'part-start':
        this.#parts(event.choice)[event.index] = watched(event.part);
        return;
      case 'part-delta':
      case 'part-end': {
        const parts = this.#parts(event.choice);
        const part = parts[event.index];
        if (part?.type !== 'reasoning') return;
        parts[event.index] =
          event.type === 'part-delta' ? extended(part, event.delta) : ({ ...part, ...event.end } as Part);
        return;
      }
      case 'finish':
        this.#found.push(...thoughtsIn(this.#parts(event.choice).filter((part) => part !== undefined)));
        this.#choices.delete(event.choice);
        return;
      default:
    }
  }

  /** What has been found since the last time. */
  take(): readonly CallThoughts[] {
    const found = this.#found;
    if (found.length > 0) this.#found = [];
    return found;
  }

  #parts(choice: number): Part[] {
    let parts = this.#choices.get(choice);
    if (!parts) {
      parts = [];
      this.#choices.set(choice, parts);
    }
    return parts;
  }
}

function watched(part: Part): Part {
  if (part.type === 'reasoning') return part;
  return part.type === 'tool-call' ? { ...part, argsText: '' } : SOMETHING_SAID;
}

/** How far back thoughts are looked for. Their makers want those of the turn under way; a conversation can be a book. */
const MOST_CALLS = 100;

/** Calls that come back without what was thought before them. */
export function callsWithoutThoughts({ turns }: ModelRequest): readonly CallName[] {
  const calls: CallName[] = [];
  const seen = new Set<string>();
  for (let index = turns.length - 1; index >= 0 && calls.length < MOST_CALLS; index--) {
    if (!lacksThoughts(turns[index]!)) continue;
    for (const part of turns[index]!.parts) {
      if (part.type !== 'tool-call' || seen.has(part.id)) continue;
      seen.add(part.id);
      calls.push({ id: part.id, name: part.name });
    }
  }
  return calls;
}

const lacksThoughts = ({ role, parts }: Turn): boolean => role === 'assistant' && !parts.some(isSigned);

/** The conversation with the thoughts of that maker where they were. */
export function withThoughts(
  request: ModelRequest,
  thoughts: ReadonlyMap<string, CallThoughts>,
  maker: DialectName,
): ModelRequest {
  const used = usedOnce(request);
  const own = (id: string): CallThoughts | undefined => {
    const found = used.has(id) ? thoughts.get(id) : undefined;
    return found && [...found.opening, ...found.before].every(({ signedBy }) => signedBy === maker) ? found : undefined;
  };
  const turns = request.turns.map((turn) => (lacksThoughts(turn) ? restored(turn, own) : turn));
  return { ...request, turns };
}

function restored(turn: Turn, thoughtsOf: (id: string) => CallThoughts | undefined): Turn {
  const opening: Part[] = [];
  let hasFound = false;
  const parts = turn.parts.flatMap((part) => {
    const found = part.type === 'tool-call' ? thoughtsOf(part.id) : undefined;
    if (!found) return [part];
    hasFound = true;
    opening.push(...found.opening);
    return [...found.before, part];
  });
  if (!hasFound) return turn;
  // What the client has sent of them without their signatures would be there twice.
  return { ...turn, parts: [...opening, ...parts.filter((part) => part.type !== 'reasoning' || isSigned(part))] };
}

/** A provider that numbers its calls anew in each answer has used the id for several: whose thoughts they are is not known. */
function usedOnce({ turns }: ModelRequest): Set<string> {
  const once = new Set<string>();
  const often = new Set<string>();
  for (const { parts } of turns) {
    for (const part of parts) {
      if (part.type !== 'tool-call') continue;
      if (once.has(part.id)) often.add(part.id);
      else once.add(part.id);
    }
  }
  for (const id of often) once.delete(id);
  return once;
}
