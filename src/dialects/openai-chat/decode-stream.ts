import type { StreamDecoder } from '../dialect.ts';
import { cutOff, garbled } from '../failure.ts';
import type { DialectName, Ext, Failure, JsonObject, Part, ReplyEvent, TokenLogprob } from '../ir.ts';
import { countIn, isObject, objectIn, objectsIn, parsed, someTextIn, textIn } from '../json.ts';
import type { ServerSentEvent } from '../sse.ts';
import { thinkingText } from './blocks.ts';
import { decodeError } from './errors.ts';
import { callPart, decodeFinish, decodeHead, messageRest, partOfBlock } from './reply.ts';
import { decodeUsage } from './usage.ts';

interface OpenCall {
  readonly index: number;
  readonly id: string;
  text: string;
}

interface ChoiceState {
  readonly choice: number;
  parts: number;
  /** The part that text of its kind goes on in; calls are in `calls`. */
  current: { readonly type: 'text' | 'refusal' | 'reasoning'; readonly index: number; readonly block?: number } | null;
  readonly calls: Map<number, OpenCall>;
  lastCall: number;
  hasRefusal: boolean;
  /** Members of the message that we do not know. */
  rest: JsonObject;
  isFinished: boolean;
}

/**
 * Chunks as events. The format does not say where a part ends: text ends when something else comes, a call when the next
 * one starts and its arguments are whole. Calls whose pieces alternate stay open side by side.
 */
export class ChatStreamDecoder implements StreamDecoder {
  readonly #choices = new Map<number, ChoiceState>();
  #hasStarted = false;
  #hasFailed = false;
  #isDone = false;

  push({ data }: ServerSentEvent): readonly ReplyEvent[] {
    if (this.#hasFailed || this.#isDone) return [];
    if (data.trim() === '[DONE]') {
      this.#isDone = this.#isFinished();
      return [];
    }
    const chunk = parsed(data);
    if (!isObject(chunk)) return this.#fail(garbled('a chunk that is no JSON object', data.slice(0, 200)));
    if (chunk.error) return this.#fail(decodeError(undefined, chunk));
    const events: ReplyEvent[] = [];
    if (!this.#hasStarted) {
      this.#hasStarted = true;
      events.push({ type: 'start', head: decodeHead(chunk) });
    }
    for (const choice of objectsIn(chunk.choices)) this.#choice(choice, events);
    if (isObject(chunk.usage)) events.push({ type: 'usage', usage: decodeUsage(chunk.usage) });
    return events;
  }

  /** The last word is each choice's finish: many compatible providers send no `[DONE]`. */
  end(): readonly ReplyEvent[] {
    return this.#hasFailed || this.#isFinished() ? [] : this.#fail(cutOff());
  }

  #isFinished(): boolean {
    return this.#choices.size > 0 && [...this.#choices.values()].every((state) => state.isFinished);
  }

  #fail(failure: Failure): ReplyEvent[] {
    this.#hasFailed = true;
    return [{ type: 'error', failure }];
  }

  #choice(raw: JsonObject, events: ReplyEvent[]) {
    const choice = countIn(raw.index) ?? 0;
    let state = this.#choices.get(choice);
    if (!state) {
      state = {
        choice,
        parts: 0,
        current: null,
        calls: new Map(),
        lastCall: -1,
        hasRefusal: false,
        rest: {},
        isFinished: false,
      };
      this.#choices.set(choice, state);
    }
    if (state.isFinished) return;
    const delta = objectIn(raw.delta);
    const logprobs = objectIn(raw.logprobs);
    const blocks = Array.isArray(delta.content_blocks) ? objectsIn(delta.content_blocks) : null;
    if (blocks) for (const block of blocks) addBlock(state, block, events);
    else addText(state, 'reasoning', delta.reasoning_content ?? delta.reasoning, undefined, events);
    for (const part of objectsIn(delta.content)) addContent(state, part, events);
    addText(state, 'text', delta.content, logprobs.content, events);
    addText(state, 'refusal', delta.refusal, logprobs.refusal, events);
    for (const call of objectsIn(delta.tool_calls)) addCall(state, call, events);
    const { message } = messageRest(delta);
    if (message) state.rest = { ...state.rest, ...objectIn(message) };
    const finish = textIn(raw.finish_reason);
    if (finish !== undefined) finishChoice(state, finish, events);
  }
}

function finishChoice(state: ChoiceState, raw: string, events: ReplyEvent[]) {
  const { choice, rest } = state;
  state.isFinished = true;
  endCurrent(state, events);
  for (const key of [...state.calls.keys()]) endCall(state, key, events);
  const said = { hasCalls: state.lastCall >= 0, hasRefusal: state.hasRefusal };
  const ext: Ext | undefined = Object.keys(rest).length > 0 ? { 'openai-chat': { message: rest } } : undefined;
  events.push({ type: 'finish', choice, finish: decodeFinish(raw, said), ...(ext && { ext }) });
}

type Kind = 'text' | 'refusal' | 'reasoning';

function addText(
  state: ChoiceState,
  type: Kind,
  value: unknown,
  logprobs: unknown,
  events: ReplyEvent[],
  block?: number,
) {
  const text = someTextIn(value);
  const chances = Array.isArray(logprobs) && logprobs.length > 0 ? (logprobs as TokenLogprob[]) : undefined;
  if (text === undefined && !chances) return;
  const index = openText(state, type, block, events);
  const delta = { ...(text !== undefined && { text }), ...(chances && { logprobs: chances }) };
  events.push({ type: 'part-delta', choice: state.choice, index, delta });
}

/** Some compatible providers send lists of parts. */
function addContent(state: ChoiceState, part: JsonObject, events: ReplyEvent[]) {
  if (part.type === 'thinking') addText(state, 'reasoning', thinkingText(part.thinking), undefined, events);
  else addText(state, 'text', part.text, undefined, events);
}

/** The part of this kind that is open, or a new one. */
function openText(state: ChoiceState, type: Kind, block: number | undefined, events: ReplyEvent[]): number {
  if (state.current?.type === type && state.current.block === block) return state.current.index;
  endCurrent(state, events);
  endWholeCalls(state, events);
  const index = state.parts++;
  if (type === 'refusal') state.hasRefusal = true;
  const part: Part = type === 'reasoning' ? { type } : { type, text: '' };
  state.current = { type, index, block };
  events.push({ type: 'part-start', choice: state.choice, index, part });
  return index;
}

function endCurrent(state: ChoiceState, events: ReplyEvent[]) {
  if (!state.current) return;
  events.push({ type: 'part-end', choice: state.choice, index: state.current.index });
  state.current = null;
}

/** The extension of `blocks.ts` in a stream: pieces of thoughts, their signatures, and whole blocks of other kinds. */
function addBlock(state: ChoiceState, { index: block, delta, content_block }: JsonObject, events: ReplyEvent[]) {
  const at = countIn(block);
  if (isObject(content_block)) {
    endCurrent(state, events);
    const index = state.parts++;
    events.push({ type: 'part-start', choice: state.choice, index, part: partOfBlock(content_block) });
    events.push({ type: 'part-end', choice: state.choice, index });
    return;
  }
  const { thinking, signature, signed_by } = objectIn(delta);
  if (thinking !== undefined) addText(state, 'reasoning', thinking, undefined, events, at);
  if (typeof signature !== 'string') return;
  const index = openText(state, 'reasoning', at, events);
  const signedBy = (textIn(signed_by) ?? 'anthropic') as DialectName;
  events.push({ type: 'part-end', choice: state.choice, index, end: { signature, signedBy } });
  state.current = null;
}

function addCall(state: ChoiceState, raw: JsonObject, events: ReplyEvent[]) {
  endCurrent(state, events);
  const id = someTextIn(raw.id);
  const key = callKey(state, countIn(raw.index), id);
  const piece = textIn(objectIn(raw.function).arguments) ?? textIn(objectIn(raw.custom).input) ?? '';
  let call = state.calls.get(key);
  const names = someTextIn(objectIn(raw.function).name) ?? someTextIn(objectIn(raw.custom).name) ?? id;
  // White space after the last brace of a call that has ended.
  if (!call && names === undefined && piece.trim() === '') return;
  if (!call) {
    endWholeCalls(state, events);
    const part = callPart(raw) as Extract<Part, { type: 'tool-call' }>;
    call = { index: state.parts++, id: part.id, text: '' };
    state.calls.set(key, call);
    events.push({ type: 'part-start', choice: state.choice, index: call.index, part: { ...part, argsText: '' } });
  }
  state.lastCall = key;
  if (piece === '') return;
  call.text += piece;
  events.push({ type: 'part-delta', choice: state.choice, index: call.index, delta: { text: piece } });
}

/** Some compatible providers leave the index out, or give every call the index 0: then a new id is a new call. */
function callKey(state: ChoiceState, index: number | undefined, id: string | undefined): number {
  const key = index ?? (id === undefined ? state.lastCall : -1);
  const open = state.calls.get(key);
  const isAnother = open !== undefined && id !== undefined && open.id !== '' && open.id !== id;
  if (key >= 0 && !isAnother) return key;
  return Math.max(-1, ...state.calls.keys(), state.lastCall) + 1;
}

/** Arguments that are whole JSON can get no more pieces. */
function endWholeCalls(state: ChoiceState, events: ReplyEvent[]) {
  for (const [key, call] of [...state.calls]) if (isObject(parsed(call.text))) endCall(state, key, events);
}

function endCall(state: ChoiceState, key: number, events: ReplyEvent[]) {
  const call = state.calls.get(key)!;
  state.calls.delete(key);
  const { choice } = state;
  if (call.text === '') events.push({ type: 'part-delta', choice, index: call.index, delta: { text: '{}' } });
  events.push({ type: 'part-end', choice, index: call.index });
}
