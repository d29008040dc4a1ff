import { fail } from '../../core/errors.ts';
import { READ_LIMITS, shapeFault } from '../../core/json-shape.ts';
import type { JsonObject } from '../../dialects/ir.ts';
import { isObject } from '../../dialects/json.ts';
import { parsed } from '../events.ts';
import type { Frame } from './turn.ts';

/** A larger one is refused. */
const LARGEST_FRAME = 16 << 20;
/** How a client's frame of sound or pictures begins and ends, in the orders in which clients write it. */
const SOUND_BEGINS =
  /^\{"realtimeInput":\{"(?:(?:audio|video|media)":|mediaChunks":\[)\{(?:"mimeType":"[\w/;=. -]{1,80}",)?"data":"/;
const SOUND_ENDS = /^"(?:,"mimeType":"[\w/;=. -]{1,80}")?\}\]?\}\}$/;
/** The same of a provider's. */
const SPOKEN_BEGINS =
  /^\{\s*"serverContent"\s*:\s*\{\s*"modelTurn"\s*:\s*\{\s*"parts"\s*:\s*\[\s*\{\s*"inlineData"\s*:\s*\{\s*(?:"mimeType"\s*:\s*"[^"\\]{1,80}"\s*,\s*)?"data"\s*:\s*"/;
const SPOKEN_ENDS = /^"\s*(?:,\s*"mimeType"\s*:\s*"[^"\\]{1,80}"\s*)?\}\s*\}\s*\]\s*\}\s*\}\s*\}\s*$/;
const WITHIN = 400;

const KINDS = ['setup', 'clientContent', 'realtimeInput', 'toolResponse', 'contextUpdate'] as const;
type Kind = (typeof KINDS)[number];
/** Google reads both spellings of every name. */
const SPELT = new Map(KINDS.flatMap((kind) => [kind, snake(kind)].map((name) => [name, kind] as const)));

export interface ClientMessage {
  readonly kind: Kind;
  /** As the client spells it. */
  readonly name: string;
  readonly value: JsonObject;
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** A member in whichever spelling; in both it is refused: the provider takes one of them. */
export function memberOf(object: JsonObject, name: string, within: string): unknown {
  const other = snake(name);
  if (other !== name && object[name] !== undefined && object[other] !== undefined)
    fail('invalid_request', `${within}.${name}`, 'is given in two spellings');
  return object[name] ?? object[other];
}

/** How many characters of sound or pictures a frame brings and nothing else; null: it has to be read. */
export const soundIn = (frame: string): number | null => mediaIn(frame, SOUND_BEGINS, SOUND_ENDS);

function mediaIn(frame: string, begins: RegExp, ends: RegExp): number | null {
  const start = begins.exec(frame.length > WITHIN ? frame.slice(0, WITHIN) : frame)?.[0].length;
  if (start === undefined) return null;
  const end = frame.indexOf('"', start);
  // What is longer than this behind the sound is more than its type.
  return end > 0 && frame.length - end < WITHIN && ends.test(frame.slice(end)) ? end - start : null;
}

/** A client's frame. Throws 400 where it is none that can be understood in one way only. */
export function clientMessage(frame: Frame): ClientMessage {
  if (frame.length > LARGEST_FRAME) fail('body_too_large', LARGEST_FRAME);
  const bytes = Buffer.from(frame as string);
  const fault = shapeFault(bytes, READ_LIMITS);
  if (fault) fail('invalid_request', fault.member ?? 'frame', fault.why);
  const message = parsed(bytes.toString());
  if (!isObject(message)) fail('invalid_request', 'frame', 'is no JSON object');
  const [name, ...others] = Object.keys(message);
  const kind = SPELT.get(name ?? '');
  if (!kind || others.length > 0) fail('invalid_request', 'frame', `has to hold one of ${KINDS.join(', ')}`);
  const value = message[name!];
  if (!isObject(value)) fail('invalid_request', name!, 'must be an object');
  return { kind, name: name!, value };
}

/** What a provider's message says, as far as it matters here. */
export interface ServerMessage {
  /** Whether a model speaks in it, or calls a tool. */
  readonly isOutput: boolean;
  /** Whether it belongs to an answer, which may have to be judged before it is heard. */
  readonly isOfAnswer: boolean;
  readonly text: string;
  /** Characters of sound. */
  readonly sound: number;
  readonly calls: readonly unknown[];
  readonly isComplete: boolean;
  readonly usage: JsonObject | null;
  /** What was heard of the client, in words. */
  readonly heard: string;
}

const SILENT: ServerMessage = {
  isOutput: false,
  isOfAnswer: false,
  text: '',
  sound: 0,
  calls: [],
  isComplete: false,
  usage: null,
  heard: '',
};

/** Google sends JSON in binary frames. */
export function serverMessage(frame: Frame): ServerMessage {
  const source =
    typeof frame === 'string' ? frame : Buffer.from(frame.buffer, frame.byteOffset, frame.length).toString();
  const spoken = mediaIn(source, SPOKEN_BEGINS, SPOKEN_ENDS);
  if (spoken !== null) return { ...SILENT, isOutput: true, isOfAnswer: true, sound: spoken };
  const message = parsed(source);
  if (!isObject(message)) return SILENT;
  const content = objectIn(message.serverContent);
  const parts = listIn(objectIn(content.modelTurn).parts).filter(isObject);
  const calls = listIn(objectIn(message.toolCall).functionCalls);
  const text = parts.map((part) => textIn(part.text)).join('') + textIn(objectIn(content.outputTranscription).text);
  const sound = parts.reduce((sum, part) => sum + textIn(objectIn(part.inlineData).data).length, 0);
  const { inputTranscription, ...rest } = content;
  return {
    isOutput: parts.length > 0 || text !== '' || calls.length > 0,
    isOfAnswer: calls.length > 0 || Object.keys(rest).length > 0,
    ...{ text, sound, calls },
    isComplete: content.turnComplete === true,
    usage: isObject(message.usageMetadata) ? message.usageMetadata : null,
    heard: textIn(objectIn(inputTranscription).text),
  };
}

const objectIn = (value: unknown): JsonObject => (isObject(value) ? value : {});
const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const textIn = (value: unknown): string => (typeof value === 'string' ? value : '');
