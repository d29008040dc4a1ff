import { newObjectId } from '../../core/object-ids.ts';
import type { ContentBlock } from '../messages.ts';
import { begunCall } from './built-in.ts';
import { blockOf } from './ending.ts';
import type { Piece } from './model-answer.ts';
import type { Exchange } from './step.ts';

interface Called {
  id: string;
  name: string;
  arguments: string;
  type: Exchange['type'];
  /** Which of the calls it is to those who are told; null: they are not, because nobody knows yet what is called. */
  position: number | null;
}

export interface AnswerOptions {
  /** What kind of tool goes by that name. */
  readonly typeOf: (name: string) => Exchange['type'];
  /** A provider that calls several tools although it was asked not to is taken at its first. */
  readonly isParallel: boolean;
}

/** What a model says in one call, as it grows; and each growth as a delta for those who watch. */
export class Answer {
  finish: string | null = null;
  usage: { prompt: number; completion: number } | null = null;
  readonly #options: AnswerOptions;
  readonly #blocks: { type: 'text' | 'refusal'; text: string }[] = [];
  readonly #calls = new Map<number, Called>();
  readonly #ids = new Set<string>();

  constructor(options: AnswerOptions) {
    this.#options = options;
  }

  get hasText(): boolean {
    return this.#blocks.length > 0;
  }

  /** A message has at least one block, though nothing may stand in it. */
  get content(): ContentBlock[] {
    const blocks = this.hasText ? this.#blocks : [{ type: 'text' as const, text: '' }];
    return blocks.map(({ type, text }) => blockOf(type, text));
  }

  get exchanges(): Exchange[] {
    return [...this.#calls.values()]
      .filter(({ position }) => position !== null)
      .sort((one, other) => one.position! - other.position!)
      .map(({ id, name, arguments: text, type }) => ({ id, name, arguments: text, type, output: null }));
  }

  /** Everything that was said, for counting it where the provider does not. */
  get said(): string {
    return JSON.stringify([this.#blocks, [...this.#calls.values()]]);
  }

  get isEmpty(): boolean {
    return !this.hasText && this.#calls.size === 0;
  }

  /** Answers the delta of the message's content. */
  say({ type, text }: Extract<Piece, { text: string }>): object {
    let index = this.#blocks.findIndex((block) => block.type === type);
    const isNew = index < 0;
    if (isNew) index = this.#blocks.push({ type, text: '' }) - 1;
    this.#blocks[index]!.text += text;
    return contentDelta(index, { type, text }, isNew);
  }

  /** Answers the delta of the step's tool calls; null while there is nothing to tell. */
  call({ index, id, name, arguments: text }: Extract<Piece, { type: 'call' }>): object | null {
    let called = this.#calls.get(index);
    if (!called) {
      if (!this.#options.isParallel && this.#calls.size > 0) return null;
      called = { id: this.#freshId(id), name: '', arguments: '', type: 'function', position: null };
      this.#calls.set(index, called);
    }
    called.arguments += text;
    if (called.position !== null)
      return called.type === 'function' && text !== '' ? argumentsDelta(called.position, text) : null;
    if (!name) return null;
    called.name = name;
    called.type = this.#options.typeOf(name);
    called.position = [...this.#calls.values()].filter(({ position }) => position !== null).length;
    return { index: called.position, ...begunCall(called.type, called) };
  }

  /** All at once, for those who were not told while they came. */
  get wholeContent(): object[] {
    const blocks = this.hasText ? this.#blocks : [{ type: 'text' as const, text: '' }];
    return blocks.map((block, index) => contentDelta(index, block, true));
  }

  get wholeCalls(): object[] {
    return this.exchanges.map((call, index) => ({ index, ...begunCall(call.type, call) }));
  }

  /** Results are matched to calls by id: one that is missing or was there before gets one of ours. */
  #freshId(given: string | undefined): string {
    const id = given && !this.#ids.has(given) ? given : newObjectId('toolCall');
    this.#ids.add(id);
    return id;
  }
}

/** Only the first delta of a block may say what is said once: clients put the texts of all of them together. */
const contentDelta = (index: number, { type, text }: { type: 'text' | 'refusal'; text: string }, isNew: boolean) =>
  type === 'refusal'
    ? { index, type, refusal: text }
    : { index, type, text: { value: text, ...(isNew && { annotations: [] }) } };

const argumentsDelta = (index: number, text: string) => ({ index, type: 'function', function: { arguments: text } });

export const messageDelta = (id: string, content: readonly object[]) => ({
  id,
  object: 'thread.message.delta',
  delta: { content },
});

export const stepDelta = (id: string, calls: readonly object[]) => ({
  id,
  object: 'thread.run.step.delta',
  delta: { step_details: { type: 'tool_calls', tool_calls: calls } },
});
