import type { TextPart } from './check.ts';
import {
  type Context,
  contextAtTop,
  contextInside,
  contextOfMember,
  isChoices,
  type Json,
  REVEALING,
  type Side,
} from './text-context.ts';

/** A stretch of a body. */
export interface Stretch {
  readonly start: number;
  /** One past its last character. */
  readonly end: number;
}

/** A text and where its value stands in the JSON. */
export interface FoundText extends TextPart, Stretch {
  /** The same for all pieces of one text in the events of a stream. */
  readonly channel: string;
}

export interface FoundTexts {
  readonly texts: readonly FoundText[];
  /** Values that repeat the texts in another form, and must not stay where one of them is changed. */
  readonly revealing: readonly Stretch[];
  /** One past the JSON. */
  readonly end: number;
}

/** A body that one program reads in one way and another in another, or that nobody should read. */
export class Unreadable extends Error {}

const DEEPEST = 200;
const EMPTY = /\s/;

/** The names on the way to a value; written out only when somebody asks. */
interface Way {
  readonly above: Way | null;
  readonly key: string | number;
  /** What an element says of its place, which in a stream is not its place in the list. */
  readonly named: string | number;
}

/**
 * Every text of a JSON value that a model reads or wrote, in the order of the conversation: what stands before it first.
 * `source` is the JSON as it was sent and `json` the same, parsed; the value begins at `start`. What is not known to be a
 * setting or a code is a text, so that a member that vendors add tomorrow is not overlooked.
 */
export function findTexts(source: string, json: unknown, side: Side, start = 0): FoundTexts {
  const walk = new Walk(source, side, start);
  walk.top(json);
  const texts = walk.texts;
  // The sort is stable; most bodies are in order already.
  if (!walk.isInOrder) texts.sort((one, other) => one.turn - other.turn);
  return { texts, revealing: walk.revealing, end: walk.at };
}

class Text implements FoundText {
  readonly text: string;
  readonly role: string;
  readonly kind: TextPart['kind'];
  readonly turn: number;
  readonly start: number;
  readonly end: number;
  readonly #way: Way;
  readonly #event: Json | null;

  constructor(text: string, { role, kind, turn }: Context, { start, end }: Stretch, way: Way, event: Json | null) {
    this.text = text;
    this.role = role;
    this.kind = kind;
    this.turn = turn;
    this.start = start;
    this.end = end;
    this.#way = way;
    this.#event = event;
  }

  get where(): string {
    return written(this.#way, ({ key }) => key);
  }

  get channel(): string {
    const { type, index, output_index, content_index, summary_index, item_id } = this.#event ?? {};
    const event = JSON.stringify([type, index, output_index, content_index, summary_index, item_id]);
    return `${event} ${written(this.#way, ({ named }) => named)}`;
  }
}

function written(way: Way, nameOf: (step: Way) => string | number): string {
  const steps: string[] = [];
  for (let step: Way | null = way; step; step = step.above) {
    const name = nameOf(step);
    steps.push(typeof name === 'number' ? `[${name}]` : step.above ? `.${name}` : name);
  }
  return steps.reverse().join('');
}

class Walk {
  readonly texts: FoundText[] = [];
  readonly revealing: Stretch[] = [];
  isInOrder = true;
  at: number;
  readonly #source: string;
  readonly #side: Side;
  #event: Json | null = null;

  constructor(source: string, side: Side, start: number) {
    this.#source = source;
    this.#side = side;
    this.at = start;
  }

  top(json: unknown) {
    this.#space();
    if (isObject(json)) {
      this.#event = json;
      // An event of a stream says at its top what it is a piece of.
      const piece = this.#side.on === 'output' ? contextInside(json, ASSISTANT) : null;
      this.#members(json, (key, value) => {
        const context = contextAtTop(key, value, this.#side, json);
        if (!context) return this.#skip();
        const inner = contextOfMember(key, value, json, piece ? { ...context, kind: kindOf(piece, context) } : context, this.#side);
        const way = { above: null, key, named: key };
        if (this.#skipsRevealing(key) || !inner) return this.#skip();
        this.#member(value, inner, way, this.#isList(key, value));
      });
    } else this.#member(json, this.#side.on === 'input' ? USER : ASSISTANT, { above: null, key: 'body', named: 'body' }, Array.isArray(json));
  }

  /** Each element of a conversation, and each choice of an answer, is a turn. */
  #isList(key: string, value: unknown): boolean {
    return Array.isArray(value) && (this.#side.on === 'input' ? true : isChoices(key));
  }

  #member(value: unknown, context: Context, way: Way, hasTurns: boolean, depth = 0) {
    if (depth > DEEPEST) throw new Unreadable(`it is nested deeper than ${DEEPEST} levels`);
    const start = this.at;
    if (typeof value === 'string') {
      this.#skipString();
      this.#found(value, context, start, way);
    } else if (Array.isArray(value)) this.#elements(value, context, way, hasTurns, depth);
    else if (isObject(value)) this.#object(value, context, way, depth);
    else {
      this.#skipPlain();
      if (context.isGiven && typeof value === 'number')
        this.#found(this.#source.slice(start, this.at), context, start, way);
    }
  }

  #found(text: string, context: Context, start: number, way: Way) {
    if (text === '') return;
    const last = this.texts.at(-1);
    if (last && last.turn > context.turn) this.isInOrder = false;
    this.texts.push(new Text(text, context, { start, end: this.at }, way, this.#event));
  }

  #object(object: Json, outer: Context, way: Way, depth: number) {
    const inner = contextInside(object, outer);
    this.#members(object, (key, value) => {
      if (this.#skipsRevealing(key)) return this.#skip();
      const context = contextOfMember(key, value, object, inner, this.#side);
      if (!context) return this.#skip();
      this.#member(value, context, { above: way, key, named: key }, false, depth + 1);
    });
  }

  #elements(elements: readonly unknown[], context: Context, way: Way, hasTurns: boolean, depth: number) {
    this.#open();
    elements.forEach((element, index) => {
      const named = isObject(element) && typeof element.index === 'number' ? element.index : index;
      const inner = hasTurns ? { ...context, turn: context.turn + index } : context;
      this.#member(element, inner, { above: way, key: index, named }, false, depth + 1);
      this.#next();
    });
    this.#close();
  }

  #members(object: Json, each: (key: string, value: unknown) => void) {
    this.#open();
    let count = 0;
    while (this.#source[this.at] === '"') {
      const start = this.at;
      this.#skipString();
      const spelt = this.#source.slice(start + 1, this.at - 1);
      const key = spelt.includes('\\') ? (JSON.parse(this.#source.slice(start, this.at)) as string) : spelt;
      this.#space();
      this.at++;
      this.#space();
      each(key, object[key]);
      count++;
      this.#next();
    }
    // Which of two members of one name counts is up to whoever reads it.
    if (count !== Object.keys(object).length) throw new Unreadable('a member of it is given twice');
    this.#close();
  }

  #skipsRevealing(key: string): boolean {
    if (this.#side.on === 'input' || !REVEALING.has(key)) return false;
    const start = this.at;
    const back = this.at;
    this.#skip();
    if (this.#source.slice(start, this.at) !== 'null') this.revealing.push({ start, end: this.at });
    this.at = back;
    return true;
  }

  #open() {
    this.at++;
    this.#space();
  }

  #next() {
    this.#space();
    if (this.#source[this.at] === ',') this.at++;
    this.#space();
  }

  #close() {
    this.at++;
  }

  #space() {
    while (EMPTY.test(this.#source[this.at] ?? 'x')) this.at++;
  }

  #skipString() {
    for (let from = this.at + 1; ; ) {
      const quote = this.#source.indexOf('"', from);
      let backslashes = 0;
      while (this.#source[quote - 1 - backslashes] === '\\') backslashes++;
      from = quote + 1;
      if (backslashes % 2 === 0) break;
    }
  }
}
