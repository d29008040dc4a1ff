import type { DialectName, JsonObject, ReasoningPart } from '../ir.ts';
import { objectsIn, present, restOf, someTextIn, textIn } from '../json.ts';
import type { ReasoningItem } from './wire.ts';

const MARK = 'gateway.';
const MAKERS: readonly string[] = [
  'openai-chat',
  'anthropic',
  'responses',
  'gemini',
  'converse',
  'cohere',
] satisfies DialectName[];
/** Stands where the id of a thought is not known. */
const NO_ID = 'rs_unknown';
const BETWEEN = '\n\n';

/**
 * Clients send `encrypted_content` of thoughts back as they got it. What a provider signed travels in it with its maker's
 * dialect before it, and so finds its way home.
 */
const sealed = (opaque: string, maker: DialectName | undefined): string => `${MARK}${maker ?? 'responses'}.${opaque}`;

/** What OpenAI encrypted belongs to the item it came in, so the item's id goes with it. */
function unsealed(id: string | undefined, encrypted: string): { opaque: string; signedBy: DialectName } {
  const end = encrypted.indexOf('.', MARK.length);
  const maker = encrypted.startsWith(MARK) ? encrypted.slice(MARK.length, end) : '';
  if (MAKERS.includes(maker)) return { opaque: encrypted.slice(end + 1), signedBy: maker as DialectName };
  return { opaque: id === undefined || id === NO_ID ? encrypted : `${id}.${encrypted}`, signedBy: 'responses' };
}

const KNOWN = new Set(['type', 'id', 'status', 'summary', 'content', 'encrypted_content']);

const textsIn = (list: unknown): string[] => objectsIn(list).map(({ text }) => textIn(text) ?? '');

/** A thought. Its text is the whole one where the model shows it, else the summary. */
export function readThought(item: JsonObject): ReasoningPart {
  const whole = textsIn(item.content);
  const summary = textsIn(item.summary);
  const text = (whole.length > 0 ? whole : summary).join(BETWEEN) || undefined;
  const encrypted = someTextIn(item.encrypted_content);
  const seal = encrypted === undefined ? undefined : unsealed(someTextIn(item.id), encrypted);
  // One summary is what any thought is written as; every other form has to be kept to be sent back.
  const isPlain = whole.length === 0 && summary.length <= 1;
  const rest = { ...(!isPlain && present({ summary: item.summary, content: item.content })), ...restOf(item, KNOWN) };
  return present<ReasoningPart>({
    type: 'reasoning',
    text,
    ...(seal && { [text === undefined ? 'redacted' : 'signature']: seal.opaque, signedBy: seal.signedBy }),
    ext: Object.keys(rest).length > 0 ? { responses: rest } : undefined,
  });
}

/** A thought in an answer. Whichever provider made it, the client only carries it. */
export function thoughtItem({ text, signature, redacted, signedBy, ext }: ReasoningPart, id: string): ReasoningItem {
  const opaque = redacted ?? signature;
  return present<ReasoningItem>({
    type: 'reasoning',
    id,
    summary: text ? [{ type: 'summary_text', text }] : [],
    encrypted_content: opaque === undefined ? undefined : sealed(opaque, signedBy),
    ...ext?.responses,
  });
}

/** A thought of OpenAI on its way back to it. */
export function ownThoughtItem({ text, signature, redacted, ext }: ReasoningPart): ReasoningItem {
  const opaque = redacted ?? signature ?? '';
  const end = opaque.startsWith('rs_') ? opaque.indexOf('.') : -1;
  return {
    type: 'reasoning',
    id: end < 0 ? NO_ID : opaque.slice(0, end),
    summary: text ? [{ type: 'summary_text', text }] : [],
    encrypted_content: opaque.slice(end + 1),
    ...ext?.responses,
  };
}

/** The text between two summaries, which are one thought. */
export const summaryBreak = BETWEEN;
