import { DEEPEST } from '../core/json-shape.ts';
import type { TextPart } from './check.ts';
import { JsonCursor } from './json-cursor.ts';
import {
  type Context,
  contextAtTop,
  contextInside,
  contextOfMember,
  type Json,
  REVEALING,
  type Side,
  startsTurns,
} from './text-context.ts';

/** A stretch of a body. */
export interface Stretch {
  readonly start: number;
  /** One past its last character. */
  readonly end: number;
}

/** A text and where its value stands in the body. */
export interface FoundText extends TextPart, Stretch {
  /** The same for all pieces of one text in the events of a stream. */
  readonly channel: string;
}

export interface FoundTexts {
  readonly texts: readonly FoundText[];
  /** Values that repeat the texts in another form, and must not stay where one of them is changed. */
  readonly revealing: readonly Stretch[];
  /** Text that came as numbers of tokens, which nobody here can read. */
  readonly hasTokens: boolean;
  /** One past the JSON. */
  readonly end: number;
}

/** A body that two programs may read in two ways, or that nobody should read. */
export class Unreadable extends Error {}

/** Members that may be tokens instead of text. */
const TOKENISED = new Set<string | number>(['prompt', 'input']);

/**
 * Every text of a JSON value that a model reads or wrote, in the order of the conversation, what stands before it first.
 * `source` is the JSON as it was sent and `json` the same, parsed; the value begins at `start`. What is not known to be a
 * setting or a code is a text, so that a member that a vendor adds tomorrow is not overlooked.
 */
export function findTexts(source: string, json: unknown, side: Side, start = 0): FoundTexts {
  const walk = new Walk(source, side, start);
  walk.top(json);
  const { texts, revealing, hasTokens, end } = walk;
  // Stable; and most bodies are in order as they are.
  if (!walk.isInOrder) texts.sort((one, other) => one.turn - other.turn);
  return { texts, revealing, hasTokens, end };
}

/** The names on the way to a value, put together only when somebody asks. */
interface Way {
  readonly above: Way | null;
  readonly key: string | number;
  /** What an element says of its place: in a stream that is not its place in the list. */
  readonly named: string | number;
}

function rootOf(way: Way): string | number {
  let step = way;
  while (step.above) step = step.above;
  return step.key;
}

function written(way: Way, nameOf: (step: Way) => string | number): string {
  const steps: string[] = [];
  for (let step: Way | null = way; step; step = step.above) {
    const name = nameOf(step);
    steps.push(typeof name === 'number' ? `[${name}]` : step.above ? `.${name}` : name);
  }
  return steps.reverse().join('');
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

const isObject = (value: unknown): value is Json =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

const inTurn = ({ role, kind, isGiven }: Context, turn: number): Context => ({ role, kind, turn, isGiven });

/** Which of two members of one name counts is up to whoever reads it. */
function refuseTwice(object: Json, count: number) {
  if (count !== Object.keys(object).length) throw new Unreadable('a member of it is given twice');
}

class Walk {
  readonly texts: FoundText[] = [];
  readonly revealing: Stretch[] = [];
  isInOrder = true;
  hasTokens = false;
  readonly #source: string;
  readonly #side: Side;
  readonly #cursor: JsonCursor;
  #event: Json | null = null;

  constructor(source: string, side: Side, start: number) {
    this.#source = source;
    this.#side = side;
    this.#cursor = new JsonCursor(source, start);
  }

  get end(): number {
    return this.#cursor.at;
  }

  top(json: unknown) {
    const context = this.#outermost();
    if (!isObject(json)) return this.#value(json, context, { above: null, key: 'body', named: 'body' }, true, 0);
    this.#event = json;
    const inner = this.#side.on === 'output' ? contextInside(json, context) : context;
    const cursor = this.#cursor;
    let count = 0;
    cursor.open();
    for (let key = cursor.key(); key !== null; key = cursor.key()) {
      count++;
      const value = json[key];
      const own = contextAtTop(key, value, this.#side, inner);
      const at = own && contextOfMember(key, value, json, own, this.#side);
      if (!at || this.#isRevealing(key)) cursor.skip();
      else this.#value(value, at, { above: null, key, named: key }, startsTurns(key, this.#side), 0);
    }
    refuseTwice(json, count);
  }

  #outermost(): Context {
    const { on, endpoint } = this.#side;
    const isInput = on === 'input';
    if (endpoint === 'mcp')
      return isInput
        ? { role: 'assistant', kind: 'tool_call', turn: 1, isGiven: false }
        : { role: 'tool', kind: 'tool_result', turn: 0, isGiven: false };
    return { role: isInput ? 'user' : 'assistant', kind: 'text', turn: isInput ? 1 : 0, isGiven: false };
  }

  #value(value: unknown, context: Context, way: Way, hasTurns: boolean, depth: number) {
    if (depth > DEEPEST) throw new Unreadable(`it is nested deeper than ${DEEPEST} levels`);
    const start = this.#cursor.at;
    if (Array.isArray(value)) return this.#elements(value, context, way, hasTurns, depth);
    if (isObject(value)) return this.#object(value, context, way, depth);
    this.#cursor.skip();
    if (typeof value === 'string') this.#found(value, context, start, way);
    else if (typeof value === 'number') this.#number(context, start, way);
  }

  #number(context: Context, start: number, way: Way) {
    if (context.isGiven) this.#found(this.#source.slice(start, this.#cursor.at), context, start, way);
    else if (this.#side.on === 'input' && typeof way.key === 'number' && TOKENISED.has(rootOf(way)))
      this.hasTokens = true;
  }

  #found(text: string, context: Context, start: number, way: Way) {
    if (text === '') return;
    const last = this.texts.at(-1);
    if (last && last.turn > context.turn) this.isInOrder = false;
    this.texts.push(new Text(text, context, { start, end: this.#cursor.at }, way, this.#event));
  }

  #elements(elements: readonly unknown[], context: Context, way: Way, hasTurns: boolean, depth: number) {
    const cursor = this.#cursor;
    cursor.open();
    for (let index = 0; index < elements.length; index++) {
      const element = elements[index];
      const place = isObject(element) && typeof element.index === 'number' ? element.index : index;
      const inner = hasTurns ? inTurn(context, context.turn + place) : context;
      this.#value(element, inner, { above: way, key: index, named: place }, false, depth + 1);
      cursor.comma();
    }
    cursor.close();
  }

  #object(object: Json, outer: Context, way: Way, depth: number) {
    const inner = contextInside(object, outer);
    const cursor = this.#cursor;
    let count = 0;
    cursor.open();
    for (let key = cursor.key(); key !== null; key = cursor.key()) {
      count++;
      const value = object[key];
      const context = contextOfMember(key, value, object, inner, this.#side);
      if (!context || this.#isRevealing(key)) cursor.skip();
      else this.#value(value, context, { above: way, key, named: key }, false, depth + 1);
    }
    refuseTwice(object, count);
  }

  #isRevealing(key: string): boolean {
    if (this.#side.on === 'input' || !REVEALING.has(key)) return false;
    const start = this.#cursor.at;
    this.#cursor.skip();
    this.revealing.push({ start, end: this.#cursor.at });
    this.#cursor.at = start;
    return true;
  }
}
