import { JsonCursor } from '../../guardrails/json-cursor.ts';
import { type Capability, capabilityOf, LISTS } from '../message/capability.ts';
import { Ambiguous, misspellingOf, refuseTwins } from '../message/strict-json.ts';

export interface FilteredMessage {
  /** The message without what may not be seen. */
  readonly text: string;
  /** Everything that was in it. */
  readonly seen: readonly Capability[];
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly by: string;
}

type Json = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Json =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

/**
 * Takes from the lists in a message what `shows` refuses; every other byte stays. Lists are known by their form, not by
 * what was asked: a stream that is taken up again replays answers to questions of another request. Null: it has no list.
 */
export function filterLists(source: string, shows: (capability: Capability) => boolean): FilteredMessage | null {
  let value: unknown;
  try {
    value = JSON.parse(source);
  } catch {
    throw new Ambiguous('it is not valid JSON');
  }
  const messages = Array.isArray(value) ? value : [value];
  messages.forEach(refuseOdd);
  if (!messages.some(hasList)) return null;
  // Which of two members of one name counts is up to the client.
  refuseTwins(source, DEEPEST);
  const filtering = new Filtering(source, shows);
  if (Array.isArray(value)) filtering.cursor.elements(messages.length, (index) => filtering.message(messages[index]));
  else filtering.message(value);
  return { text: spliced(source, filtering.edits), seen: filtering.seen };
}

const DEEPEST = 128;
/** Each one is hashed and judged, and meanwhile no other request is served. */
const MOST_ELEMENTS = 5_000;
const misspellsResult = misspellingOf(['result']);
const misspellsList = misspellingOf(Object.keys(LISTS));

function refuseOdd(message: unknown) {
  if (!isObject(message)) return;
  const result = isObject(message.result) ? message.result : {};
  // A client that reads carelessly would find a list where none is seen here.
  const odd = Object.keys(message).find(misspellsResult) ?? Object.keys(result).find(misspellsList);
  if (odd !== undefined) throw new Ambiguous(`it has a member ${JSON.stringify(odd)}, which is not spelt like that`);
  for (const name of Object.keys(LISTS)) {
    const list = result[name];
    if (Array.isArray(list) && list.length > MOST_ELEMENTS)
      throw new Ambiguous(`it has more than ${MOST_ELEMENTS} ${name}`);
  }
}

const hasList = (message: unknown): boolean =>
  isObject(message) && isObject(message.result) && Object.keys(LISTS).some((name) => isList(message.result, name));

const isList = (result: unknown, name: string): boolean => isObject(result) && Array.isArray(result[name]);

class Filtering {
  readonly cursor: JsonCursor;
  readonly edits: Edit[] = [];
  readonly seen: Capability[] = [];
  readonly #source: string;
  readonly #shows: (capability: Capability) => boolean;

  constructor(source: string, shows: (capability: Capability) => boolean) {
    this.#source = source;
    this.#shows = shows;
    this.cursor = new JsonCursor(source, 0);
  }

  message(message: unknown) {
    if (!isObject(message)) return this.cursor.skip();
    this.cursor.members((key) => {
      const value = message[key];
      if (key === 'result' && isObject(value)) this.#result(value);
      else this.cursor.skip();
    });
  }

  #result(result: Json) {
    const holdsList = Object.keys(LISTS).some((name) => isList(result, name));
    this.cursor.members((key) => {
      const value = result[key];
      if (Object.hasOwn(LISTS, key) && Array.isArray(value)) return this.#list(key, value);
      const start = this.cursor.at;
      this.cursor.skip();
      // What one caller sees is not for a cache that others share.
      if (holdsList && key === 'cacheScope' && value === 'public')
        this.edits.push({ start, end: this.cursor.at, by: '"private"' });
    });
  }

  #list(key: string, elements: readonly unknown[]) {
    const { cursor } = this;
    const start = cursor.at;
    const kept: string[] = [];
    cursor.elements(elements.length, (index) => {
      const from = cursor.at;
      cursor.skip();
      const capability = capabilityOf(key, elements[index]);
      // A client cannot ask for an element without a name, and a model would read text that was not judged.
      if (!capability) return;
      this.seen.push(capability);
      if (this.#shows(capability)) kept.push(this.#source.slice(from, cursor.at));
    });
    if (kept.length < elements.length) this.edits.push({ start, end: cursor.at, by: `[${kept.join(',')}]` });
  }
}

function spliced(source: string, edits: readonly Edit[]): string {
  let result = '';
  let at = 0;
  for (const { start, end, by } of edits) {
    result += source.slice(at, start) + by;
    at = end;
  }
  return result + source.slice(at);
}
