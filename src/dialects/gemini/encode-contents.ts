import { fail } from '../../core/errors.ts';
import type {
  JsonObject,
  MediaPart,
  ModelRequest,
  Part,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
  Turn,
} from '../ir.ts';
import { isObject, parsed } from '../json.ts';
import type { Losses } from '../losses.ts';
import type { NeedsFetch } from '../remote-media.ts';
import { inlinePart, mediaPart } from './encode-media.ts';
import { demandsSignatures } from './models.ts';
import type { Content, FunctionResponse, InlineData, Part as WirePart } from './wire.ts';

export interface Notes {
  readonly losses: Losses;
  readonly needsFetch: NeedsFetch[];
}

/** The vendor's word for calls that were made elsewhere, or whose signature is lost. */
const NO_SIGNATURE = 'skip_thought_signature_validator';

export function encodeTurns(
  { model, turns }: ModelRequest,
  notes: Notes,
): { readonly system: WirePart[]; readonly contents: Content[] } {
  const encoder = new TurnEncoder(model, notes);
  for (const [index, turn] of turns.entries()) encoder.turn(turn, `turns[${index}]`);
  return encoder;
}

class TurnEncoder {
  readonly system: WirePart[] = [];
  readonly contents: Content[] = [];
  readonly #model: string;
  readonly #notes: Notes;
  readonly #losses: Losses;
  /** The functions that were called so far, by the ids of the calls: a result has to name its function. */
  readonly #called = new Map<string, string>();

  constructor(model: string, notes: Notes) {
    this.#model = model;
    this.#notes = notes;
    this.#losses = notes.losses;
  }

  turn(turn: Turn, path: string) {
    if (turn.name !== undefined) this.#losses.member(turn, path, 'name', 'gemini knows no names of participants');
    const ext = this.#losses.ext(turn, path);
    if (turn.role === 'system' || turn.role === 'developer') return this.#systemTurn(turn, path);
    const isAssistant = turn.role === 'assistant';
    const parts = isAssistant ? this.#said(turn, path) : this.#parts(turn, path);
    if (parts.length > 0) this.contents.push({ ...ext, role: isAssistant ? 'model' : 'user', parts });
    else this.#losses.change(turn, path, 'left out, because gemini takes no message that says nothing');
  }

  #systemTurn(turn: Turn, path: string) {
    if (this.contents.length > 0)
      this.#losses.change(turn, path, 'moved to the system instruction, the only place gemini has for it');
    for (const [index, part] of turn.parts.entries()) {
      const at = `${path}.parts[${index}]`;
      if (part.type !== 'text') this.#losses.node(part, at, 'system messages have only text here');
      else this.system.push(...this.#part(part, at));
    }
  }

  #parts(turn: Turn, path: string): WirePart[] {
    return turn.parts.flatMap((part, index) => this.#part(part, `${path}.parts[${index}]`));
  }

  /**
   * What the model said, with its signatures. Thoughts that only Gemini can read are the signature of the call behind
   * them, a signature without a thought is that of the text before it: so `reply.ts` reads them.
   */
  #said(turn: Turn, path: string): WirePart[] {
    const parts: WirePart[] = [];
    for (const [index, part] of turn.parts.entries()) {
      const at = `${path}.parts[${index}]`;
      if (part.type === 'reasoning') {
        if (!isCallSignature(part, turn.parts[index + 1])) this.#thought(part, at, parts);
        continue;
      }
      const before = turn.parts[index - 1];
      const signature = before?.type === 'reasoning' && isCallSignature(before, part) ? before.redacted : undefined;
      const made = this.#part(part, at);
      parts.push(...(signature === undefined ? made : made.map((each) => ({ ...each, thoughtSignature: signature }))));
    }
    return this.#signed(parts, turn, path);
  }

  #thought(part: ReasoningPart, path: string, parts: WirePart[]) {
    if (part.signedBy !== 'gemini') {
      this.#losses.node(part, path, 'gemini takes back only thoughts that it signed itself', false);
      return;
    }
    const ext = this.#losses.ext(part, path);
    const thoughtSignature = part.redacted ?? part.signature;
    const last = parts.at(-1);
    if (part.text !== undefined) parts.push({ ...ext, text: part.text, thought: true, thoughtSignature });
    else if (part.redacted === undefined && last?.text !== undefined && !last.thought && !last.thoughtSignature)
      parts[parts.length - 1] = { ...last, thoughtSignature };
    else {
      this.#losses.change(part, path, 'sent on an empty text of its own');
      parts.push({ ...ext, text: '', thoughtSignature });
    }
  }

  /** Newer models refuse calls without a signature; only the first of each message has one. */
  #signed(parts: WirePart[], turn: Turn, path: string): WirePart[] {
    const first = parts.findIndex((part) => part.functionCall);
    if (first < 0 || parts[first]?.thoughtSignature || !demandsSignatures(this.#model)) return parts;
    this.#losses.change(turn, path, 'its calls are marked as made elsewhere, because gemini wants a signature');
    return parts.with(first, { ...parts[first], thoughtSignature: NO_SIGNATURE });
  }

  #part(part: Part, path: string): WirePart[] {
    if (part.type === 'opaque') {
      if (part.dialect === 'gemini') return [part.raw as WirePart];
      this.#losses.node(part, path, `only ${part.dialect} has this kind of content`);
      return [];
    }
    const made = this.#knownPart(part, path);
    if (made && 'cache' in part && part.cache)
      this.#losses.member(part, path, 'cache', 'gemini decides by itself what it caches');
    return made ? [{ ...this.#losses.ext(part, path), ...made }] : [];
  }

  #knownPart(part: Exclude<Part, { type: 'opaque' }>, path: string): WirePart | null {
    switch (part.type) {
      case 'text':
        if (part.text !== '') return { text: part.text };
        this.#losses.change(part, path, 'left out, because gemini takes no empty text');
        return null;
      case 'refusal':
        this.#losses.change(part, path, 'sent as text');
        return { text: part.text };
      case 'media':
        return mediaPart(part, path, this.#notes);
      case 'tool-call':
        return this.#call(part, path);
      case 'tool-result':
        return { functionResponse: this.#result(part, path) };
      case 'reasoning':
        this.#losses.node(part, path, 'only the model thinks at gemini', false);
        return null;
      default:
        return part satisfies never;
    }
  }

  #call(part: ToolCallPart, path: string): WirePart | null {
    this.#called.set(part.id, part.name);
    if (part.custom) {
      this.#losses.node(part, path, 'calls of custom tools cannot be sent to gemini');
      return null;
    }
    return { functionCall: { id: part.id, name: part.name, args: { ...argumentsOf(part, path) } } };
  }

  #result(part: ToolResultPart, path: string): FunctionResponse {
    const name = this.#called.get(part.id);
    if (name === undefined)
      return fail('invalid_request', part.at ?? path, `it answers "${part.id}", but no call before it has that id`);
    const texts: string[] = [];
    const media: { inlineData: InlineData }[] = [];
    for (const [index, inner] of part.parts.entries()) {
      const at = `${path}.parts[${index}]`;
      if (inner.type === 'opaque') this.#losses.node(inner, at, 'results have only text and media at gemini');
      else if (inner.type === 'text') {
        if (media.length > 0) this.#losses.change(inner, at, 'said before the media of the result');
        this.#unplaced(inner, at);
        texts.push(inner.text);
      } else {
        const made = inlinePart(inner, at, this.#notes);
        if (made) this.#unplaced(inner, at);
        if (made) media.push(made);
      }
    }
    const output = texts.length > 1 ? texts : (texts[0] ?? '');
    const response = part.isError ? { error: output } : { output };
    return { id: part.id, name, response, ...(media.length > 0 && { parts: media }) };
  }

  /** Inside a result there is room for nothing but text and files. */
  #unplaced(part: TextPart | MediaPart, path: string) {
    const own = this.#losses.ext(part, path) ?? {};
    for (const name of Object.keys(own))
      this.#losses.member(part, path, `ext.gemini.${name}`, 'results have no place for it');
    if (part.cache) this.#losses.member(part, path, 'cache', 'gemini decides by itself what it caches');
  }
}

const isCallSignature = (part: ReasoningPart, next: Part | undefined): boolean =>
  part.redacted !== undefined && part.signedBy === 'gemini' && next?.type === 'tool-call' && !next.custom;

/** The arguments of a call are JSON inside JSON here, so the text has to be an object. */
function argumentsOf({ argsText, at }: ToolCallPart, path: string): JsonObject {
  const input = argsText === '' ? {} : parsed(argsText);
  return isObject(input)
    ? input
    : fail('invalid_request', at ?? path, 'its arguments must be the text of a JSON object');
}
