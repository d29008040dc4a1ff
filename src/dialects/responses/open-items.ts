import type { JsonObject, Part, PartEnd, ReplyEvent } from '../ir.ts';
import { objectIn, objectsIn, present, textIn } from '../json.ts';
import { contentExt, contentPart, itemParts, messageRest, readCall, withMessage } from './output.ts';
import { readThought, summaryBreak } from './thoughts.ts';
import { readLogprobs, type Said } from './wire.ts';

interface OpenPart {
  readonly index: number;
  readonly type: Part['type'];
  text: string;
}

interface OpenItem {
  readonly raw: JsonObject;
  /** By their content index; a call or a thought has one. */
  readonly parts: Map<number, OpenPart>;
  /** Contents that have ended. */
  readonly ended: Set<number>;
  /** Which of a thought's texts is shown, and the number of the one that is being written. */
  thought: { readonly kind: 'summary' | 'content'; number: number } | null;
  isDone: boolean;
}

interface Piece {
  readonly at: number;
  readonly content: number;
  readonly type: 'output_text' | 'refusal';
  readonly text: string;
  readonly logprobs?: unknown;
}

interface Thinking {
  readonly kind: 'summary' | 'content';
  readonly number: number;
  readonly text: string;
}

/** The items of a stream, by their output index, and the parts they are becoming. */
export class OpenItems {
  readonly #items = new Map<number, OpenItem>();
  #parts = 0;
  #hasCalls = false;
  #hasRefusal = false;

  get said(): Said {
    return { hasCalls: this.#hasCalls, hasRefusal: this.#hasRefusal };
  }

  /** A thought or an item of another kind waits until there is something of it to show. */
  add(at: number, raw: JsonObject, events: ReplyEvent[]): OpenItem {
    const known = this.#items.get(at);
    if (known) return known;
    const item: OpenItem = { raw, parts: new Map(), ended: new Set(), thought: null, isDone: false };
    this.#items.set(at, item);
    if (isCall(raw)) this.#start(item, 0, { ...readCall(raw), argsText: '' }, events);
    return item;
  }

  addContent(at: number, content: number, part: JsonObject, events: ReplyEvent[]): boolean {
    const item = this.#items.get(at) ?? this.add(at, { type: 'message' }, events);
    if (item.raw.type === 'message' && (part.type === 'output_text' || part.type === 'refusal'))
      this.#content(item, content, part, events);
    return true;
  }

  say({ at, content, type, text, logprobs }: Piece, events: ReplyEvent[]): boolean {
    const item = this.#items.get(at) ?? this.add(at, { type: 'message' }, events);
    if (item.raw.type !== 'message' || item.ended.has(content)) return false;
    const open = this.#content(item, content, { type }, events);
    const chances = readLogprobs(logprobs);
    open.text += text;
    const delta = { ...(text && { text }), ...(chances && { logprobs: chances }) };
    if (text || chances) events.push({ type: 'part-delta', choice: 0, index: open.index, delta });
    return true;
  }

  argue(at: number, text: string, events: ReplyEvent[]): boolean {
    const item = this.#items.get(at);
    const open = item?.parts.get(0);
    if (open?.type !== 'tool-call' || item?.isDone) return false;
    this.#write(open, text, events);
    return true;
  }

  /** The texts of a thought are one; of a summary and the whole thought, the first to come is the one shown. */
  think(at: number, { kind, number, text }: Thinking, events: ReplyEvent[]): boolean {
    const item = this.#items.get(at) ?? this.add(at, { type: 'reasoning' }, events);
    if (item.raw.type !== 'reasoning' || item.isDone) return false;
    if (text === '') return true;
    item.thought ??= { kind, number };
    if (item.thought.kind !== kind) return true;
    const open = item.parts.get(0) ?? this.#start(item, 0, { type: 'reasoning' }, events);
    const isNext = number !== item.thought.number;
    item.thought.number = number;
    this.#write(open, isNext ? summaryBreak + text : text, events);
    return true;
  }

  endContent(at: number, content: number, part: JsonObject, events: ReplyEvent[]): boolean {
    const item = this.#items.get(at);
    const open = item?.parts.get(content);
    if (!item || !open || !isSaid(open)) return true;
    this.#complete(open, contentPart(part), events);
    const ext = contentExt(part);
    this.#end(item, content, events, ext && { ext: { responses: { ...messageOf(item, content), ...ext } } });
    return true;
  }

  /** Also for items that only the last event has. */
  done(at: number, raw: JsonObject, events: ReplyEvent[]) {
    const item = this.add(at, raw, events);
    if (item.isDone) return;
    item.isDone = true;
    if (raw.type === 'message') {
      for (const [content, part] of objectsIn(raw.content).entries()) {
        if (item.ended.has(content)) continue;
        this.#content(item, content, part, events);
        this.endContent(at, content, part, events);
      }
      for (const content of [...item.parts.keys()]) this.#end(item, content, events);
    } else if (isCall(raw)) this.#endCall(item, raw, events);
    else if (raw.type === 'reasoning') this.#endThought(item, raw, events);
    else for (const part of itemParts(raw)) this.#whole(item, part, events);
  }

  endAll(events: ReplyEvent[]) {
    for (const item of this.#items.values()) {
      if (item.isDone) continue;
      item.isDone = true;
      if (isCall(item.raw)) this.#endCall(item, item.raw, events);
      else for (const content of [...item.parts.keys()]) this.#end(item, content, events);
    }
  }

  #endCall(item: OpenItem, raw: JsonObject, events: ReplyEvent[]) {
    const open = item.parts.get(0);
    if (!open) return;
    const part = readCall(raw);
    this.#complete(open, part, events);
    this.#end(item, 0, events, part.ext && { ext: part.ext });
  }

  #endThought(item: OpenItem, raw: JsonObject, events: ReplyEvent[]) {
    const part = readThought(raw);
    const open = item.parts.get(0);
    if (!open) {
      for (const whole of itemParts(raw)) this.#whole(item, whole, events);
      return;
    }
    // Pieces have shown a text, so what proves it is a signature, whatever the item says.
    const signature = part.signature ?? part.redacted;
    const end = present<PartEnd>({
      signature,
      signedBy: signature === undefined ? undefined : part.signedBy,
      ext: part.ext,
    });
    this.#end(item, 0, events, Object.keys(end).length > 0 ? end : undefined);
  }

  /** The content of that number, which starts when it is first heard of. */
  #content(item: OpenItem, content: number, part: JsonObject, events: ReplyEvent[]): OpenPart {
    const open = item.parts.get(content);
    if (open) return open;
    const { text, ...empty } = contentPart(part) as { text?: string } & Part;
    const isText = empty.type === 'text' || empty.type === 'refusal';
    const { logprobs, ...plain } = (isText ? { ...empty, text: '' } : empty) as Part & { logprobs?: unknown };
    const [started] = withMessage([plain as Part], messageOf(item, content).message);
    if (empty.type === 'refusal') this.#hasRefusal = true;
    return this.#start(item, content, started!, events);
  }

  #start(item: OpenItem, content: number, part: Part, events: ReplyEvent[]): OpenPart {
    const open: OpenPart = { index: this.#parts++, type: part.type, text: '' };
    item.parts.set(content, open);
    if (part.type === 'tool-call') this.#hasCalls = true;
    events.push({ type: 'part-start', choice: 0, index: open.index, part });
    return open;
  }

  #whole(item: OpenItem, part: Part, events: ReplyEvent[]) {
    const { index } = this.#start(item, item.parts.size, part, events);
    events.push({ type: 'part-end', choice: 0, index });
  }

  #write(open: OpenPart, text: string, events: ReplyEvent[]) {
    if (text === '') return;
    open.text += text;
    events.push({ type: 'part-delta', choice: 0, index: open.index, delta: { text } });
  }

  /** What the whole has beyond the pieces that came. */
  #complete(open: OpenPart, whole: Part, events: ReplyEvent[]) {
    const text = whole.type === 'tool-call' ? whole.argsText : textIn(objectIn(whole).text);
    if (open.text === '' && whole.type === 'text' && whole.logprobs)
      events.push({ type: 'part-delta', choice: 0, index: open.index, delta: { logprobs: whole.logprobs } });
    if (text?.startsWith(open.text)) this.#write(open, text.slice(open.text.length), events);
  }

  #end(item: OpenItem, content: number, events: ReplyEvent[], end?: PartEnd) {
    const open = item.parts.get(content);
    if (!open || item.ended.has(content)) return;
    item.ended.add(content);
    events.push({ type: 'part-end', choice: 0, index: open.index, ...(end && { end }) });
  }
}

const isCall = ({ type }: JsonObject): boolean => type === 'function_call' || type === 'custom_tool_call';

const isSaid = ({ type }: OpenPart): boolean => type === 'text' || type === 'refusal';

/** What belongs to the message stays with its first part. */
function messageOf({ raw }: OpenItem, content: number): { readonly message?: JsonObject } {
  const message = content === 0 ? messageRest(raw) : undefined;
  return message ? { message } : {};
}
