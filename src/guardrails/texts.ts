import { DEEPEST } from '../core/json-shape.ts';
import type { TextPart } from './check.ts';
import { textOfFile } from './file-text.ts';
import { JsonCursor } from './json-cursor.ts';
import type { Placed, Stretch } from './splice.ts';
import {
  Context,
  contextAtTop,
  contextInside,
  contextOfMember,
  isNameText,
  type Json,
  REVEALING,
  type Side,
  startsTurns,
} from './text-context.ts';
import { tokenTexts } from './token-texts.ts';

/** A text and where its value stands in the body. */
export interface FoundText extends TextPart, Placed {
  /** The same for all pieces of one text in the events of a stream. */
  readonly channel: string;
  /** It repeats other texts in another form, and goes where one of them is changed. */
  readonly isRevealing?: boolean;
}

export interface FoundTexts {
  readonly texts: readonly FoundText[];
  /** Values that repeat the texts in another form, and must not stay where one of them is changed. */
  readonly revealing: readonly Stretch[];
  /** Text that came as numbers of tokens, which the gateway cannot read. */
  readonly hasTokens: boolean;
  /** A file that says that it is text, and is none that can be read. */
  readonly hasUnread: boolean;
  /** One past the JSON. */
  readonly end: number;
}

/** A body that two programs may read in two ways, or that is broken or nested too deeply. */
export class Unreadable extends Error {}

/** Members that may be tokens instead of text. */
const TOKENISED = new Set<string | number>(['prompt', 'input']);

/**
 * Every text of a JSON value that a model reads or wrote, in the order of the conversation, what stands before it first.
 * `source` is the JSON as it was sent and `json` the same, parsed; the value begins at `start`. What is not known to be a
 * setting or a code is a text, so that a member that a vendor adds tomorrow is not overlooked. Of an event of a stream
 * (`isPiece`), which may have no more than a piece of a text, no text is opened that is JSON itself.
 */
export function findTexts(source: string, json: unknown, side: Side, start = 0, isPiece = false): FoundTexts {
  const walk = new Walk(source, side, start, isPiece);
  walk.top(json);
  const { texts, revealing, hasTokens, hasUnread, end } = walk;
  // Stable; and most bodies are in order as they are.
  if (!walk.isInOrder) texts.sort((one, other) => one.turn - other.turn);
  return { texts, revealing, hasTokens, hasUnread, end };
}

/**
 * The texts of a text that is JSON itself, as a program that parses it will see them: letters that were written as
 * escapes are letters again. Null where it is no JSON, or where nothing is hidden in it.
 */
export function textsWithin(
  source: string,
  context: Pick<Context, 'role' | 'kind' | 'turn'>,
): readonly FoundText[] | null {
  if (!source.includes('\\') || !/^\s*[[{]/.test(source)) return null;
  let json: unknown;
  try {
    json = JSON.parse(source);
  } catch {
    return null;
  }
  const walk = new Walk(source, { on: 'input', endpoint: 'proxy' }, 0);
  walk.given(json, new Context(context.role, context.kind, context.turn, true));
  return walk.texts.length > 0 ? walk.texts : null;
}

/** The names on the way to a value, put together only when a check asks for them. */
interface Way {
  readonly above: Way | null;
  readonly key: string | number;
  /** What an element says of its place: in a stream that is not its place in the list. */
  readonly named: string | number;
  /** The author of the text chose its name, so the name may be a text itself. */
  readonly isChosen?: boolean;
}

function rootOf(way: Way): string | number {
  let step = way;
  while (step.above) step = step.above;
  return step.key;
}

/** Written once for all that is inside of it: a list may hold a hundred thousand texts. */
const whereOf = new WeakMap<Way, string>();

function where(way: Way | null): string {
  if (!way) return '';
  let known = whereOf.get(way);
  if (known === undefined) {
    known = whereInside(where(way.above), way);
    whereOf.set(way, known);
  }
  return known;
}

const whereInside = (outer: string, { above, key, isChosen }: Way): string =>
  isChosen ? outer : outer + stepOf(key, above);

const stepOf = (name: string | number, above: Way | null): string =>
  typeof name === 'number' ? `[${name}]` : above ? `.${name}` : name;

const channelOf = (way: Way | null): string => (way ? channelOf(way.above) + stepOf(way.named, way.above) : '');

class Text implements FoundText {
  readonly text: string;
  readonly role: string;
  readonly kind: TextPart['kind'];
  readonly turn: number;
  readonly start: number;
  readonly end: number;
  readonly spelt?: FoundText['spelt'];
  readonly within?: FoundText['within'];
  readonly whole?: string;
  readonly isRevealing?: boolean;
  readonly #way: Way;
  readonly #event: Json | null;

  constructor(
    text: string,
    { role, kind, turn }: Pick<Context, 'role' | 'kind' | 'turn'>,
    { start, end }: Stretch,
    { way, event }: { readonly way: Way; readonly event: Json | null },
    more?: Pick<FoundText, 'spelt' | 'within' | 'whole' | 'isRevealing'>,
  ) {
    this.text = text;
    this.role = role;
    this.kind = kind;
    this.turn = turn;
    this.start = start;
    this.end = end;
    this.#way = way;
    this.#event = event;
    if (more) Object.assign(this, more);
  }

  get where(): string {
    return whereInside(where(this.#way.above), this.#way);
  }

  get channel(): string {
    const { type, index, output_index, content_index, summary_index, item_id } = this.#event ?? {};
    const event = JSON.stringify([type, index, output_index, content_index, summary_index, item_id]);
    return `${event} ${channelOf(this.#way)}`;
  }
}

const isObject = (value: unknown): value is Json =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

/** Of two members with one name, some programs take the first and some the last. */
function refuseTwice(object: Json, count: number) {
  if (count !== Object.keys(object).length) throw new Unreadable('a member of it is given twice');
}

class Walk {
  readonly texts: Text[] = [];
  readonly revealing: Stretch[] = [];
  isInOrder = true;
  hasTokens = false;
  hasUnread = false;
  readonly #source: string;
  readonly #side: Side;
  readonly #isPiece: boolean;
  readonly #cursor: JsonCursor;
  #event: Json | null = null;

  constructor(source: string, side: Side, start: number, isPiece = false) {
    this.#source = source;
    this.#isPiece = isPiece;
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
      this.#name(key, null, inner);
      const own = contextAtTop(key, value, this.#side, inner);
      const at = own && contextOfMember(key, value, json, own, this.#side);
      if (!at || this.#isRevealing(key, value, inner, null)) cursor.skip();
      else this.#value(value, at, { above: null, key, named: key }, startsTurns(key, this.#side), 0);
    }
    refuseTwice(json, count);
  }

  /** A value whose content and names were all chosen by its author. */
  given(json: unknown, context: Context) {
    this.#value(json, context, { above: null, key: '', named: '', isChosen: true }, false, 0);
  }

  #outermost(): Context {
    const { on, endpoint } = this.#side;
    const isInput = on === 'input';
    if (endpoint === 'mcp')
      return isInput ? new Context('assistant', 'tool_call', 1) : new Context('tool', 'tool_result', 0);
    return new Context(isInput ? 'user' : 'assistant', 'text', isInput ? 1 : 0);
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
    if (text === '' || context.isWord?.(text)) return;
    const at = { start, end: this.#cursor.at };
    if (context.file) return this.#file(text, context, at, way);
    const isOfTool = context.kind === 'tool_call' || context.kind === 'tool_result';
    const inner = isOfTool && !context.isGiven && !this.#isPiece ? textsWithin(text, context) : null;
    if (!inner) return this.#push(text, context, at, way);
    // As if each stood here itself; what is put in its place is put into the text around it.
    for (const [index, { text: said, kind, start: from, end: to }] of inner.entries())
      this.#push(said, context.said(context.role, kind), at, way, {
        within: { source: text, start: from, end: to },
        ...(index === 0 && { whole: text }),
      });
  }

  #file(value: string, context: Context, at: Stretch, way: Way) {
    const file = textOfFile(value, context.file!.type);
    if (file === 'unread') this.hasUnread = true;
    else if (file) this.#push(file.text, context, at, way, { spelt: file.spelt });
  }

  /** What a member is called, where that says something. */
  #name(key: string, way: Way | null, context: Context) {
    if (key === '' || !isNameText(key, way?.key ?? null, context)) return;
    const { keyStart: start, keyEnd: end } = this.#cursor;
    const own = { above: way, key: '', named: `{${key}}`, isChosen: true };
    this.#push(key, context.said(context.role, 'name'), { start, end }, own);
  }

  #push(
    text: string,
    context: Context,
    at: Stretch,
    way: Way,
    more?: Pick<FoundText, 'spelt' | 'within' | 'whole' | 'isRevealing'>,
  ) {
    const last = this.texts.at(-1);
    if (last && last.turn > context.turn) this.isInOrder = false;
    this.texts.push(new Text(text, context, at, { way, event: this.#event }, more));
  }

  #elements(elements: readonly unknown[], context: Context, way: Way, hasTurns: boolean, depth: number) {
    const cursor = this.#cursor;
    cursor.open();
    for (let index = 0; index < elements.length; index++) {
      const element = elements[index];
      const place = isObject(element) && typeof element.index === 'number' ? element.index : index;
      const inner = hasTurns ? context.inTurn(context.turn + place) : context;
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
      this.#name(key, way, inner);
      const context = contextOfMember(key, value, object, inner, this.#side);
      if (!context || this.#isRevealing(key, value, inner, way)) cursor.skip();
      else this.#value(value, context, { above: way, key, named: key, isChosen: inner.isGiven }, false, depth + 1);
    }
    refuseTwice(object, count);
  }

  /** Probabilities of an answer: they repeat it token by token, and say what it might have been. */
  #isRevealing(key: string, value: unknown, context: Context, above: Way | null): boolean {
    if (this.#side.on === 'input' || context.isGiven || !REVEALING.has(key)) return false;
    const start = this.#cursor.at;
    this.#cursor.skip();
    const at = { start, end: this.#cursor.at };
    this.#cursor.at = start;
    this.revealing.push(at);
    for (const [named, text] of Object.entries(tokenTexts(value))) {
      const way = { above, key, named: `${key} ${named}` };
      if (text !== '') this.#push(text, context.said(context.role, 'name'), at, way, { isRevealing: true });
    }
    return true;
  }
}
