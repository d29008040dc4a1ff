import { newObjectId } from '../../core/object-ids.ts';
import { codeIn, GrowingCode } from '../interpreter/code-argument.ts';
import type { ContentBlock } from '../messages.ts';
import { AnnotatedText, type Annotation, type Mark, type Said } from './annotations.ts';
import { begunCall } from './built-in.ts';
import { blockOf, imageOf } from './ending.ts';
import type { Piece } from './model-answer.ts';
import type { Exchange, ToolCall } from './step.ts';

interface Called {
  id: string;
  name: string;
  arguments: string;
  /** The code in them, as far as it has come. */
  readonly code: GrowingCode;
  type: Exchange['type'];
  /**
   * Its number in what watching clients are told; null: they are not told yet, because the tool's name has not come.
   */
  position: number | null;
}

export interface AnswerOptions {
  /** What kind of tool goes by that name. */
  readonly typeOf: (name: string) => Exchange['type'];
  /** A provider that calls several tools although it was asked not to is taken at its first. */
  readonly isParallel: boolean;
  /** What in its text becomes an annotation. */
  readonly marks?: readonly Mark[];
  /** Images that code has shown since the last message: they stand in front of what is said. */
  readonly images?: readonly string[];
}

interface Block {
  readonly type: 'text' | 'refusal';
  readonly said: AnnotatedText;
}

/** What a model says in one call, as it grows; and each growth as a delta for those who watch. */
export class Answer {
  finish: string | null = null;
  usage: { prompt: number; completion: number } | null = null;
  readonly #options: AnswerOptions;
  readonly #blocks: Block[] = [];
  readonly #calls = new Map<number, Called>();
  readonly #ids = new Set<string>();

  constructor(options: AnswerOptions) {
    this.#options = options;
  }

  get hasText(): boolean {
    return this.#told.length > 0;
  }

  get content(): ContentBlock[] {
    const blocks = this.#shown.map(({ type, said }) => blockOf(type, said.value, said.annotations));
    return [...this.#images.map(imageOf), ...blocks];
  }

  get #images(): readonly string[] {
    return this.#options.images ?? [];
  }

  /** The images, for clients that watch; they are told before the first word. */
  get imageDeltas(): object[] {
    return this.#images.map((fileId, index) => ({ index, ...imageOf(fileId) }));
  }

  /** Blocks of which something can be told, in the order in which that was first so. */
  get #told(): Block[] {
    return this.#blocks.filter(({ said }) => said.value !== '');
  }

  /** A message has at least one block, though nothing may stand in it. */
  get #shown(): Block[] {
    return this.hasText ? this.#told : [{ type: 'text', said: new AnnotatedText([]) }];
  }

  get exchanges(): Exchange[] {
    return [...this.#calls.values()]
      .filter(({ position }) => position !== null)
      .sort((one, other) => one.position! - other.position!)
      .map(({ id, name, arguments: text, type }) => ({ id, name, arguments: text, type, output: null }));
  }

  /** Everything that was said, for counting it where the provider does not. */
  get said(): string {
    const calls = [...this.#calls.values()].map((call) => `${call.name} ${call.arguments}`);
    return [...this.#blocks.map(({ said }) => said.value), ...calls].join('\n');
  }

  /** What makes no sense about it, though it has come to its end; null when it does. */
  get fault(): string | null {
    if (this.finish === 'length') return null;
    const isNameless = [...this.#calls.values()].some(
      ({ position, arguments: text }) => position === null && text !== '',
    );
    if (isNameless) return 'The model called a tool without naming it.';
    const isMissing = this.finish === 'tool_calls' && this.exchanges.length === 0 && !this.hasText;
    return isMissing ? 'The model said that it calls tools, and called none.' : null;
  }

  get isEmpty(): boolean {
    return !this.hasText && this.#calls.size === 0;
  }

  /** Answers the delta of the message's content; null while nothing can be told. */
  say({ type, text }: Extract<Piece, { text: string }>): object | null {
    let block = this.#blocks.find((each) => each.type === type);
    if (!block) {
      block = { type, said: new AnnotatedText(type === 'text' ? (this.#options.marks ?? []) : []) };
      this.#blocks.push(block);
    }
    const { said } = block;
    return this.#delta(block, () => said.push(text));
  }

  /** Nothing is said any more: the delta of what was held back until then. */
  endText(): object | null {
    const block = this.#blocks.find(({ type }) => type === 'text');
    return block ? this.#delta(block, () => block.said.end()) : null;
  }

  #delta(block: Block, grow: () => Said): object | null {
    const isNew = block.said.value === '';
    const count = block.said.annotations.length;
    const grown = grow();
    if (grown.text === '') return null;
    // Indexes are those of the message: blocks stand in it in the order in which they were first told.
    if (isNew) this.#blocks.push(...this.#blocks.splice(this.#blocks.indexOf(block), 1));
    const index = this.#images.length + this.#told.indexOf(block);
    return contentDelta(index, block.type, grown, { isNew, count });
  }

  /** Answers the delta of the step's tool calls; null while there is nothing to tell. */
  call({ index, id, name, arguments: text }: Extract<Piece, { type: 'call' }>): object | null {
    let called = this.#calls.get(index);
    if (!called) {
      if (!this.#options.isParallel && this.#calls.size > 0) return null;
      const code = new GrowingCode();
      called = { id: this.#freshId(id), name: '', arguments: '', code, type: 'function', position: null };
      this.#calls.set(index, called);
    }
    called.arguments += text;
    const isCode = called.type === 'code_interpreter';
    if (called.position !== null)
      return grownDelta(called.position, called.type, { text, code: isCode ? called.code.push(text) : '' });
    if (!name) return null;
    called.name = name;
    called.type = this.#options.typeOf(name);
    if (called.type === 'code_interpreter') called.code.push(called.arguments);
    called.position = [...this.#calls.values()].filter(({ position }) => position !== null).length;
    return { index: called.position, ...begunCall(called.type, called, called.code.code) };
  }

  /** All at once, for those who were not told while they came. */
  get wholeContent(): object[] {
    const first = this.#images.length;
    const blocks = this.#shown.map(({ type, said: { value, annotations } }, index) =>
      contentDelta(first + index, type, { text: value, annotations }, { isNew: true, count: 0 }),
    );
    return [...this.imageDeltas, ...blocks];
  }

  /** What could not be told of code while it came, because its arguments were not as they should be. */
  get restOfCalls(): object[] {
    const calls = [...this.#calls.values()].filter(
      ({ type, position }) => type === 'code_interpreter' && position !== null,
    );
    return calls.flatMap(({ position, code: { code }, arguments: text }) => {
      const whole = codeIn(text) ?? text;
      return whole.length > code.length && whole.startsWith(code)
        ? [codeDelta(position!, whole.slice(code.length))]
        : [];
    });
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
function contentDelta(
  index: number,
  type: Block['type'],
  { text, annotations }: Said,
  { isNew, count }: { isNew: boolean; count: number },
) {
  if (type === 'refusal') return { index, type, refusal: text };
  const added = annotations.map((annotation: Annotation, more) => ({ index: count + more, ...annotation }));
  return { index, type, text: { value: text, ...((isNew || added.length > 0) && { annotations: added }) } };
}

function grownDelta(index: number, type: Exchange['type'], { text, code }: { text: string; code: string }) {
  if (type === 'function' && text !== '') return { index, type, function: { arguments: text } };
  return type === 'code_interpreter' && code !== '' ? codeDelta(index, code) : null;
}

const codeDelta = (index: number, input: string) => ({ index, type: 'code_interpreter', code_interpreter: { input } });

/** What code has brought about; null when there is nothing to tell. */
export function outputsDelta(index: number, call: ToolCall): object | null {
  if (call.type !== 'code_interpreter' || call.code_interpreter.outputs.length === 0) return null;
  const outputs = call.code_interpreter.outputs.map((output, number) => ({ index: number, ...output }));
  return { index, type: call.type, code_interpreter: { outputs } };
}

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
