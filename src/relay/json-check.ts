import { fail } from '../core/errors.ts';
import { READ_LIMITS, shapeFault } from '../core/json-shape.ts';
import type { Choice, JsonFormat, ModelReply, Part, ReplyEvent } from '../dialects/ir.ts';
import { isObject, parsed } from '../dialects/json.ts';
import { SchemaFault, schemaCheck } from '../guardrails/checks/json/schema.ts';

/** An answer that is not the JSON that was asked for in words, and the body of the call that shows the model its fault. */
export class UnfitAnswer extends Error {
  readonly repair: Uint8Array;

  constructor(fault: string, repair: Uint8Array) {
    super(fault);
    this.repair = repair;
  }
}

/** What is wrong with a text; null: nothing. */
export type JsonCheck = (text: string) => string | null;

/** A larger one would take long to read, and is larger than any that providers take. */
const LARGEST_SCHEMA = 64 << 10;
const MOST_MS = 200;

/** Refuses a schema against which no answer could be checked. */
export function jsonCheck(format: JsonFormat, path: string, provider: string): JsonCheck {
  const fits = format.type === 'schema' ? checkOf(format.schema, path, provider) : null;
  return (text) => {
    const value = shapeFault(Buffer.from(text), READ_LIMITS) ? undefined : parsed(text);
    if (value === undefined) return 'it is not JSON';
    if (format.type === 'json') return isObject(value) ? null : 'it is not a JSON object';
    const deadline = performance.now() + MOST_MS;
    try {
      const fault = fits!(value, () => performance.now() > deadline);
      return fault === null ? null : `it does not fit the schema (${fault.slice(0, LONGEST_FAULT)})`;
    } catch (error) {
      return `it could not be held against the schema (${(error as Error).message.slice(0, LONGEST_FAULT)})`;
    }
  };
}

const LONGEST_FAULT = 300;

function checkOf(schema: Readonly<Record<string, unknown>>, path: string, provider: string) {
  if (JSON.stringify(schema).length > LARGEST_SCHEMA)
    return fail('not_expressible', path, provider, `a schema of more than ${LARGEST_SCHEMA} bytes is not checked here`);
  try {
    return schemaCheck(schema);
  } catch (error) {
    if (!(error instanceof SchemaFault)) throw error;
    const where = ['schema', ...error.path].join('.');
    return fail('not_expressible', path, provider, `the answer cannot be checked, because ${where} ${error.message}`);
  }
}

export interface Unfit {
  readonly text: string;
  readonly fault: string;
}

/** The first answer that has come to its end and is not what was asked for. Calls of tools and cut answers are as they are. */
export function unfitIn({ choices }: ModelReply, check: JsonCheck): Unfit | null {
  for (const choice of choices) {
    if (!isFinal(choice)) continue;
    const text = textOf(choice.parts);
    const fault = check(unfenced(text));
    if (fault !== null) return { text, fault };
  }
  return null;
}

const isFinal = ({ parts, finish: { reason } }: Choice): boolean =>
  (reason === 'stop' || reason === 'stop-sequence') &&
  !parts.some(({ type }) => type === 'tool-call' || type === 'refusal');

const textOf = (parts: readonly Part[]): string =>
  parts.map((part) => (part.type === 'text' ? part.text : '')).join('');

const FENCE = /^\s*```(?:json)?[ \t]*\r?\n([\s\S]*?)\r?\n?```\s*$/i;

/** What stands in a code fence, which models put around JSON whatever they are told. */
const unfenced = (text: string): string => FENCE.exec(text)?.[1] ?? text;

/** By choice, the texts of answers that were checked and stand in a fence, without it. */
export function fencedIn({ choices }: ModelReply): Map<number, string> {
  const fenced = new Map<number, string>();
  for (const [index, choice] of choices.entries()) {
    const text = textOf(choice.parts);
    const plain = unfenced(text);
    if (plain !== text && isFinal(choice)) fenced.set(index, plain);
  }
  return fenced;
}

/** Puts those texts in the place of what the provider said, each at once. */
export class Unfencing {
  readonly #fenced: ReadonlyMap<number, string>;
  readonly #begun = new Set<number>();
  readonly #texts = new Set<string>();

  constructor(fenced: ReadonlyMap<number, string>) {
    this.#fenced = fenced;
  }

  push(event: ReplyEvent): readonly ReplyEvent[] {
    if (event.type === 'part-start' && event.part.type === 'text' && this.#fenced.has(event.choice)) {
      this.#texts.add(`${event.choice} ${event.index}`);
      return [{ ...event, part: { ...event.part, text: this.#textOf(event.choice) } }];
    }
    return event.type === 'part-delta' && this.#texts.has(`${event.choice} ${event.index}`) ? [] : [event];
  }

  reply(reply: ModelReply): ModelReply {
    const plain = (parts: readonly Part[], choice: number) =>
      parts.map((part) => (part.type === 'text' ? { ...part, text: this.#textOf(choice) } : part));
    const choices = reply.choices.map((choice, index) =>
      this.#fenced.has(index) ? { ...choice, parts: plain(choice.parts, index) } : choice,
    );
    return { ...reply, choices };
  }

  /** The first text of an answer is all of it. */
  #textOf(choice: number): string {
    if (this.#begun.has(choice)) return '';
    this.#begun.add(choice);
    return this.#fenced.get(choice)!;
  }
}
