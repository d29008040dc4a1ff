import type { JsonObject } from '../../dialects/ir.ts';
import { isObject, objectIn, objectsIn, textIn } from '../../dialects/json.ts';
import { shownItem } from '../../dialects/responses/hosted-items.ts';
import { Citables, CitedText } from './cited-text.ts';
import type { HostedFunction, Shown } from './hosted-tool.ts';

/** A call of a tool that runs here, as a round's model made it. */
export interface PendingCall {
  readonly callId: string;
  readonly arguments: string;
  readonly by: HostedFunction;
}

export type KeptOutput = readonly (JsonObject | null)[];

/** An item that the client was told of under this id. */
export interface KnownItem {
  readonly type: string;
  readonly id: string;
}

/** What came of one round. */
export interface RoundTaken {
  /** The items of the round as the model gave them. */
  readonly items: JsonObject[];
  readonly pending: PendingCall[];
  /** Calls that the client has to answer. */
  hasClientCalls: boolean;
  /** The whole response of the round. */
  last: JsonObject | null;
  /** By their number in the round, their number for the client. Null: it is not shown as it is. */
  readonly places: Map<number, number | null>;
  readonly texts: Map<string, CitedText>;
}

export const newRound = (): RoundTaken => ({
  items: [],
  pending: [],
  hasClientCalls: false,
  last: null,
  places: new Map(),
  texts: new Map(),
});

const LAST = new Set(['response.completed', 'response.incomplete', 'response.failed']);
const CLIENT_CALLS = new Set(['function_call', 'custom_tool_call', 'local_shell_call', 'shell_call', 'computer_call']);

/** The events and items of one response, as the client gets them from several rounds. */
export class Outgoing {
  readonly output: JsonObject[];
  readonly citables = new Citables();
  readonly #functions: ReadonlyMap<string, HostedFunction>;
  readonly #include: ReadonlySet<string>;
  readonly #known: ReadonlyMap<number, KnownItem>;
  #places: number;
  #sequence = 0;

  constructor(
    functions: ReadonlyMap<string, HostedFunction>,
    include: ReadonlySet<string>,
    { output, known = new Map() }: { output: KeptOutput; known?: ReadonlyMap<number, KnownItem> },
  ) {
    this.#functions = functions;
    this.#include = include;
    this.#known = known;
    this.output = [];
    for (const [place, item] of output.entries()) if (item) this.output[place] = item;
    this.#places = output.length;
  }

  /** By place; an item that was begun and never whole is null. */
  get kept(): KeptOutput {
    return Array.from({ length: this.#places }, (_, place) => this.output[place] ?? null);
  }

  numbered(event: JsonObject): JsonObject {
    return { ...event, sequence_number: this.#sequence++ };
  }

  /** What the client is shown of the output so far. */
  get shown(): JsonObject[] {
    return this.output.map((item) => shownItem(item, this.#include));
  }

  /** The events of an item that is whole. */
  *whole({ item, events }: Shown): Generator<JsonObject> {
    const place = this.#places++;
    this.output[place] = item;
    yield this.numbered({ type: 'response.output_item.added', output_index: place, item: this.#shown(item) });
    yield* this.beside(item, place, events);
    yield this.numbered({ type: 'response.output_item.done', output_index: place, item: this.#shown(item) });
  }

  *begin({ item, events }: Shown): Generator<JsonObject, number> {
    const place = this.#places++;
    this.output[place] = item;
    yield this.numbered({ type: 'response.output_item.added', output_index: place, item: this.#shown(item) });
    yield* this.beside(item, place, events);
    return place;
  }

  *end({ item, events }: Shown, place: number): Generator<JsonObject> {
    this.output[place] = item;
    yield* this.beside(item, place, events);
    yield this.numbered({ type: 'response.output_item.done', output_index: place, item: this.#shown(item) });
  }

  *beside(item: JsonObject, place: number, events: readonly JsonObject[]): Generator<JsonObject> {
    for (const event of events) yield this.numbered({ ...event, item_id: item.id, output_index: place });
  }

  /** An event of a round; yields what the client hears of it. */
  *take(event: JsonObject, round: RoundTaken): Generator<JsonObject> {
    const type = textIn(event.type) ?? '';
    if (LAST.has(type)) {
      round.last = objectIn(event.response);
      return;
    }
    const at = typeof event.output_index === 'number' ? event.output_index : null;
    if (at === null) {
      yield this.numbered(event);
      return;
    }
    if (type === 'response.output_item.added') this.#place(at, objectIn(event.item), round);
    if (type === 'response.output_item.done') this.#done(at, objectIn(event.item), round);
    const place = round.places.get(at);
    if (place === undefined || place === null) return;
    yield* this.#passed(this.#renamed({ ...event, output_index: place }, place), at, round);
  }

  /** An item that is made again has the id that the client knows it by. Thoughts are signed together with theirs. */
  #idAt(place: number, type: unknown): string | null {
    const known = this.#known.get(place);
    return known && known.type === type && type !== 'reasoning' ? known.id : null;
  }

  #renamed(event: JsonObject, place: number): JsonObject {
    const known = this.#known.get(place);
    if (!known || known.type === 'reasoning') return event;
    if (!isObject(event.item)) return 'item_id' in event ? { ...event, item_id: known.id } : event;
    const id = this.#idAt(place, event.item.type);
    return id === null ? event : { ...event, item: { ...event.item, id } };
  }

  #place(at: number, item: JsonObject, round: RoundTaken): void {
    if (round.places.has(at)) return;
    const isOurs = item.type === 'function_call' && this.#functions.has(textIn(item.name) ?? '');
    round.places.set(at, isOurs ? null : this.#places++);
  }

  #done(at: number, item: JsonObject, round: RoundTaken): void {
    this.#place(at, item, round);
    round.items.push(item);
    const place = round.places.get(at)!;
    if (place !== null) {
      if (CLIENT_CALLS.has(textIn(item.type) ?? '')) round.hasClientCalls = true;
      const id = this.#idAt(place, item.type);
      this.output[place] = this.#cited(id === null ? item : { ...item, id });
      return;
    }
    const by = this.#functions.get(textIn(item.name) ?? '')!;
    round.pending.push({ callId: textIn(item.call_id) ?? '', arguments: textIn(item.arguments) || '{}', by });
  }

  /** Texts come without their markers, and with what these stand for. */
  *#passed(event: JsonObject, at: number, round: RoundTaken): Generator<JsonObject> {
    if (event.type === 'response.output_item.done') {
      const item = this.output[event.output_index as number]!;
      yield this.numbered({ ...event, item: this.#shown(item) });
      return;
    }
    if (this.citables.isEmpty) {
      yield this.numbered(event);
      return;
    }
    const key = `${at}:${event.content_index}`;
    if (event.type === 'response.output_text.delta') {
      const text = round.texts.get(key) ?? new CitedText(this.citables);
      round.texts.set(key, text);
      yield* this.#grown(event, text, text.push(textIn(event.delta) ?? ''));
    } else if (event.type === 'response.output_text.done') {
      const text = round.texts.get(key);
      const { item_id, output_index, content_index } = event;
      const delta = { type: 'response.output_text.delta', item_id, output_index, content_index, logprobs: [] };
      if (text) yield* this.#grown(delta, text, text.end());
      yield this.numbered({ ...event, text: this.#cite(textIn(event.text) ?? '').text });
    } else if (event.type === 'response.content_part.done')
      yield this.numbered({ ...event, part: this.#citedPart(objectIn(event.part)) });
    else yield this.numbered(event);
  }

  *#grown(event: JsonObject, text: CitedText, grown: ReturnType<CitedText['push']>): Generator<JsonObject> {
    if (grown.text !== '') yield this.numbered({ ...event, delta: grown.text });
    const { item_id, output_index, content_index } = event;
    const first = text.annotations.length - grown.annotations.length;
    for (const [index, annotation] of grown.annotations.entries())
      yield this.numbered({
        ...{ type: 'response.output_text.annotation.added', item_id, output_index, content_index },
        annotation_index: first + index,
        annotation,
      });
  }

  #cited(item: JsonObject): JsonObject {
    if (item.type !== 'message' || this.citables.isEmpty) return item;
    return { ...item, content: objectsIn(item.content).map((part) => this.#citedPart(part)) };
  }

  #citedPart(part: JsonObject): JsonObject {
    if (part.type !== 'output_text') return part;
    const { text, annotations } = this.#cite(textIn(part.text) ?? '');
    return { ...part, text, annotations: [...objectsIn(part.annotations), ...annotations] };
  }

  #cite(whole: string): { readonly text: string; readonly annotations: readonly JsonObject[] } {
    const cited = new CitedText(this.citables);
    const text = cited.push(whole).text + cited.end().text;
    return { text, annotations: cited.annotations };
  }

  #shown(item: JsonObject): JsonObject {
    return shownItem(item, this.#include);
  }
}
