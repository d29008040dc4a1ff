import type { Choice, Failure, Finish, ModelReply, Part, ReplyEvent, ReplyHead, TokenUsage } from './ir.ts';
import { present } from './json.ts';

/** What a streamed reply came to. `failure` when it broke; the reply then has what had come before. */
export interface Folded {
  readonly reply: ModelReply;
  readonly failure?: Failure;
}

interface Open {
  readonly parts: Part[];
  finish?: Finish;
  ext?: Choice['ext'];
}

/** Puts the events of a reply together, one by one. */
export class Fold {
  #head: ReplyHead = {};
  #usage: TokenUsage | undefined;
  #serviceTier: string | undefined;
  #failure: Failure | undefined;
  readonly #choices = new Map<number, Open>();

  push(event: ReplyEvent) {
    switch (event.type) {
      case 'start':
        this.#head = event.head;
        return;
      case 'part-start':
        this.#choice(event.choice).parts[event.index] = event.part;
        return;
      case 'part-delta':
        this.#change(event, (part) => extended(part, event.delta));
        return;
      case 'part-end':
        if (event.end) this.#change(event, (part) => ({ ...part, ...event.end }) as Part);
        return;
      case 'usage':
        this.#usage = mergedUsage(this.#usage, event.usage);
        this.#serviceTier = event.serviceTier ?? this.#serviceTier;
        return;
      case 'finish': {
        const choice = this.#choice(event.choice);
        choice.finish = event.finish;
        choice.ext = event.ext;
        return;
      }
      case 'error':
        this.#failure ??= event.failure;
        return;
      default:
        event satisfies never;
    }
  }

  result(): Folded {
    const inOrder = [...this.#choices].toSorted(([one], [other]) => one - other).map(([, choice]) => choice);
    const choices = inOrder.map(({ parts, finish = { reason: 'other' }, ext }) =>
      present<Choice>({ parts: parts.filter((part) => part !== undefined), finish, ext }),
    );
    const serviceTier = this.#serviceTier ?? this.#head.serviceTier;
    const reply = present<ModelReply>({ ...this.#head, choices, usage: this.#usage, serviceTier });
    return { reply, ...(this.#failure && { failure: this.#failure }) };
  }

  #choice(index: number): Open {
    let choice = this.#choices.get(index);
    if (!choice) {
      choice = { parts: [] };
      this.#choices.set(index, choice);
    }
    return choice;
  }

  #change({ choice, index }: { choice: number; index: number }, change: (part: Part) => Part) {
    const { parts } = this.#choice(choice);
    const part = parts[index];
    if (part) parts[index] = change(part);
  }
}

export function fold(events: Iterable<ReplyEvent>): Folded {
  const folding = new Fold();
  for (const event of events) folding.push(event);
  return folding.result();
}

/** A part with more of it. */
export function extended(part: Part, { text = '', logprobs }: { text?: string; logprobs?: readonly unknown[] }): Part {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return {
        ...part,
        text: part.text + text,
        ...(logprobs && { logprobs: [...(part.logprobs ?? []), ...logprobs] }),
      } as Part;
    case 'reasoning':
      return { ...part, text: (part.text ?? '') + text };
    case 'tool-call':
      return { ...part, argsText: part.argsText + text };
    default:
      return part;
  }
}

/** Later counts replace earlier ones, member by member. */
export const mergedUsage = (before: TokenUsage | undefined, now: TokenUsage): TokenUsage => ({
  ...before,
  ...now,
  ...((before?.ext || now.ext) && { ext: mergedExt(before?.ext, now.ext) }),
});

function mergedExt(before: TokenUsage['ext'] = {}, now: TokenUsage['ext'] = {}): TokenUsage['ext'] {
  const merged: Record<string, unknown> = { ...before };
  for (const [name, members] of Object.entries(now)) merged[name] = { ...(merged[name] as object), ...members };
  return merged;
}

/** A whole reply as the events it could have come in; the text in pieces of at most `pieceLength` characters. */
export function* unfold(reply: ModelReply, pieceLength = Number.POSITIVE_INFINITY): Generator<ReplyEvent> {
  const { choices, usage, serviceTier, ...head } = reply;
  yield { type: 'start', head: serviceTier === undefined ? head : { ...head, serviceTier } };
  for (const [choice, { parts, finish, ext }] of choices.entries()) {
    for (const [index, part] of parts.entries()) yield* unfoldPart(part, { choice, index }, pieceLength);
    yield { type: 'finish', choice, finish, ...(ext && { ext }) };
  }
  if (usage) yield { type: 'usage', usage };
}

function* unfoldPart(
  part: Part,
  at: { readonly choice: number; readonly index: number },
  pieceLength: number,
): Generator<ReplyEvent> {
  const { empty, text, end, logprobs } = emptied(part);
  yield { type: 'part-start', ...at, part: empty };
  for (const piece of pieces(text, pieceLength)) yield { type: 'part-delta', ...at, delta: { text: piece } };
  if (logprobs) yield { type: 'part-delta', ...at, delta: { logprobs } };
  yield { type: 'part-end', ...at, ...(end && { end }) };
}

function emptied(part: Part) {
  switch (part.type) {
    case 'text':
    case 'refusal': {
      const { logprobs, ...rest } = part;
      return { empty: { ...rest, text: '' } as Part, text: part.text, logprobs };
    }
    case 'tool-call':
      return { empty: { ...part, argsText: '' }, text: part.argsText };
    case 'reasoning': {
      const { text = '', signature, signedBy, ...rest } = part;
      if (signature === undefined) return { empty: present<Part>({ ...rest, signedBy }), text };
      return { empty: rest as Part, text, end: { signature, signedBy } };
    }
    default:
      return { empty: part, text: '' };
  }
}

function* pieces(text: string, length: number): Generator<string> {
  if (text.length <= length) {
    if (text) yield text;
    return;
  }
  let piece = '';
  for (const character of text) {
    piece += character;
    if (piece.length < length) continue;
    yield piece;
    piece = '';
  }
  if (piece) yield piece;
}
