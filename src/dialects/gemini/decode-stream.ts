import { newId } from '../../core/ids.ts';
import type { StreamDecoder } from '../dialect.ts';
import { cutOff, garbled } from '../failure.ts';
import type { Failure, Finish, JsonObject, Part, ReplyEvent, ReplyHead, TokenLogprob } from '../ir.ts';
import { countIn, isObject, objectIn, objectsIn, parsed, present, restOf, someTextIn, textIn } from '../json.ts';
import type { ServerSentEvent } from '../sse.ts';
import { decodeError } from './errors.ts';
import { readLogprobs, readPart, readUsage } from './parts.ts';
import { finishReason } from './wire.ts';

const HEAD_MEMBERS = new Set([
  'candidates',
  'usageMetadata',
  'modelVersion',
  'responseId',
  'createTime',
  'promptFeedback',
]);
const CANDIDATE_MEMBERS = new Set(['content', 'finishReason', 'index', 'logprobsResult']);

interface ChoiceState {
  readonly choice: number;
  parts: number;
  /** The part that text of its kind goes on in. */
  open: { readonly type: 'text' | 'reasoning'; readonly index: number } | null;
  calls: number;
  /** How many calls had to be given an id. */
  ids: number;
  /** The last word so far: some versions of the API repeat it in every chunk. */
  finish: string | undefined;
  rest: JsonObject;
}

/**
 * Chunks are answers of their own, with more text each. The format does not say where a part ends: text and thoughts end
 * when something else comes. Calls come whole.
 */
export class GeminiStreamDecoder implements StreamDecoder {
  readonly #choices = new Map<number, ChoiceState>();
  #id: string | undefined;
  #hasStarted = false;
  #hasFailed = false;
  #blocked: JsonObject | undefined;

  push({ data }: ServerSentEvent): readonly ReplyEvent[] {
    if (this.#hasFailed || data.trim() === '[DONE]') return [];
    const given = parsed(data);
    if (Array.isArray(given)) return objectsIn(given).flatMap((chunk) => this.chunk(chunk));
    if (!isObject(given)) return this.#fail(garbled('a chunk that is no JSON object', data.slice(0, 200)));
    return this.chunk(given);
  }

  end(): readonly ReplyEvent[] {
    if (this.#hasFailed) return [];
    const isWhole = this.#choices.size > 0 && [...this.#choices.values()].every(({ finish }) => finish !== undefined);
    return isWhole || this.#blocked ? this.finish() : this.#fail(cutOff());
  }

  /** One chunk, or a whole answer. */
  chunk(body: JsonObject): ReplyEvent[] {
    if (this.#hasFailed) return [];
    if (body.error) return this.#fail(decodeError(undefined, body));
    const events: ReplyEvent[] = [];
    if (!this.#hasStarted) {
      this.#hasStarted = true;
      this.#id = someTextIn(body.responseId);
      events.push({ type: 'start', head: readHead(body) });
    }
    if (textIn(objectIn(body.promptFeedback).blockReason)) this.#blocked = objectIn(body.promptFeedback);
    for (const candidate of objectsIn(body.candidates)) this.#candidate(candidate, events);
    if (isObject(body.usageMetadata)) events.push({ type: 'usage', usage: readUsage(body.usageMetadata) });
    return events;
  }

  /** Ends what is open. An answer without candidates is one that says nothing, most often because the prompt was blocked. */
  finish(): ReplyEvent[] {
    if (this.#choices.size === 0) return [{ type: 'finish', choice: 0, finish: this.#blockedFinish() }];
    const events: ReplyEvent[] = [];
    for (const state of [...this.#choices.values()].toSorted((one, other) => one.choice - other.choice)) {
      endOpen(state, events);
      const { finish: raw, choice, calls, rest } = state;
      const finish: Finish = raw === undefined ? { reason: 'other' } : { reason: finishReason(raw, calls > 0), raw };
      events.push({ type: 'finish', choice, finish, ...(Object.keys(rest).length > 0 && { ext: { gemini: rest } }) });
    }
    return events;
  }

  #blockedFinish(): Finish {
    if (!this.#blocked) return { reason: 'other' };
    const ext = { gemini: { promptFeedback: this.#blocked } };
    return { reason: 'content-filter', raw: String(this.#blocked.blockReason), ext };
  }

  #fail(failure: Failure): ReplyEvent[] {
    this.#hasFailed = true;
    return [{ type: 'error', failure }];
  }

  #candidate(candidate: JsonObject, events: ReplyEvent[]) {
    const choice = countIn(candidate.index) ?? 0;
    const state: ChoiceState = this.#choices.get(choice) ?? {
      choice,
      parts: 0,
      open: null,
      calls: 0,
      ids: 0,
      finish: undefined,
      rest: {},
    };
    this.#choices.set(choice, state);
    const parts = objectsIn(objectIn(candidate.content).parts).flatMap((raw) =>
      readPart(raw, () => this.#callId(state)),
    );
    // They are listed for the chunk, not for its parts; they go to the last text.
    const logprobs = readLogprobs(candidate.logprobsResult);
    const lastText = parts.findLastIndex((part) => part.type === 'text');
    for (const [index, part] of parts.entries()) addPart(state, part, index === lastText ? logprobs : [], events);
    if (lastText < 0 && logprobs.length > 0 && state.open?.type === 'text')
      events.push({ type: 'part-delta', choice, index: state.open.index, delta: { logprobs } });
    state.finish = someTextIn(candidate.finishReason) ?? state.finish;
    state.rest = { ...state.rest, ...restOf(candidate, CANDIDATE_MEMBERS) };
  }

  /** Made of the answer's own id, so that an answer read twice has the same ids; short enough for every provider. */
  #callId(state: ChoiceState): string {
    const place = state.choice === 0 ? `${state.ids}` : `${state.choice}-${state.ids}`;
    state.ids++;
    this.#id ??= newId<string>().replaceAll('-', '').slice(-24);
    return `call_${this.#id.replace(/[^A-Za-z0-9_-]/g, '').slice(0, 28)}_${place}`;
  }
}

function readHead(body: JsonObject): ReplyHead {
  const made = Date.parse(textIn(body.createTime) ?? '');
  const rest = restOf(body, HEAD_MEMBERS);
  return present<ReplyHead>({
    id: someTextIn(body.responseId),
    model: someTextIn(body.modelVersion),
    createdAt: Number.isNaN(made) ? undefined : Math.floor(made / 1000),
    ext: rest && { gemini: rest },
  });
}

function addPart(state: ChoiceState, part: Part, logprobs: readonly TokenLogprob[], events: ReplyEvent[]) {
  const isThought = part.type === 'reasoning' && part.redacted === undefined;
  if (part.type === 'text') addText(state, part, logprobs, events);
  else if (isThought) addThought(state, part, events);
  else addWhole(state, part, events);
}

/** Text with members of its own is a part of its own. */
function addText(
  state: ChoiceState,
  { text, ext }: Extract<Part, { type: 'text' }>,
  logprobs: readonly TokenLogprob[],
  events: ReplyEvent[],
) {
  const index = openText(state, present<Part>({ type: 'text', text: '', ext }), events);
  const delta = logprobs.length > 0 ? { text, logprobs } : { text };
  events.push({ type: 'part-delta', choice: state.choice, index, delta });
}

function addThought(state: ChoiceState, part: Extract<Part, { type: 'reasoning' }>, events: ReplyEvent[]) {
  const { text, signature, signedBy, ext } = part;
  // The signature of a text is a thought without text; that of a thought says that it is one.
  if (text === undefined) endOpen(state, events);
  const { choice } = state;
  const index = openText(state, present<Part>({ type: 'reasoning', ext }), events);
  if (text) events.push({ type: 'part-delta', choice, index, delta: { text } });
  if (signature === undefined) return;
  events.push({ type: 'part-end', choice, index, end: { signature, signedBy } });
  state.open = null;
}

function addWhole(state: ChoiceState, part: Part, events: ReplyEvent[]) {
  endOpen(state, events);
  const { choice } = state;
  const index = state.parts++;
  if (part.type === 'tool-call') {
    state.calls++;
    events.push({ type: 'part-start', choice, index, part: { ...part, argsText: '' } });
    events.push({ type: 'part-delta', choice, index, delta: { text: part.argsText } });
  } else events.push({ type: 'part-start', choice, index, part });
  events.push({ type: 'part-end', choice, index });
}

/** The part of this kind that is open, or a new one. */
function openText(state: ChoiceState, part: Part, events: ReplyEvent[]): number {
  if (state.open?.type === part.type && !part.ext) return state.open.index;
  endOpen(state, events);
  const index = state.parts++;
  state.open = { type: part.type as 'text' | 'reasoning', index };
  events.push({ type: 'part-start', choice: state.choice, index, part });
  return index;
}

function endOpen(state: ChoiceState, events: ReplyEvent[]) {
  if (state.open) events.push({ type: 'part-end', choice: state.choice, index: state.open.index });
  state.open = null;
}
