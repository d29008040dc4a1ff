import type { DialectName, JsonObject, OpaquePart, Part, ReasoningPart } from '../ir.ts';
import { objectIn, objectsIn, present, restOf, someTextIn, textIn } from '../json.ts';
import { dataUrl } from '../media.ts';

/**
 * `content_blocks`: an extension of chat messages by which clients see, and send back, what the format itself cannot
 * hold: thoughts with their signatures, pictures the model made, blocks of one provider. It lists every part but calls
 * of tools, in order. Thoughts look as Anthropic writes them; `signed_by` names another maker.
 */
export const needsBlocks = (parts: readonly Part[]): boolean =>
  parts.some((part) => part.type === 'reasoning' || part.type === 'media' || part.type === 'opaque');

export function partBlock(part: Part): JsonObject | null {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'refusal':
      return { type: 'refusal', refusal: part.text };
    case 'reasoning':
      return reasoningBlock(part);
    case 'media':
      if (part.kind === 'image' && part.source.type === 'data' && part.mime)
        return { type: 'image_url', image_url: { url: dataUrl(part.mime, part.source.data) } };
      if (part.kind === 'image' && part.source.type === 'url')
        return { type: 'image_url', image_url: { url: part.source.url } };
      return null;
    case 'opaque':
      return part.dialect === 'openai-chat'
        ? part.raw
        : { type: 'provider_block', dialect: part.dialect, block: part.raw };
    default:
      return null;
  }
}

const signer = (maker: DialectName | undefined) => (maker === 'anthropic' ? {} : present({ signed_by: maker }));

export function reasoningBlock({ text, signature, redacted, signedBy }: ReasoningPart): JsonObject {
  if (redacted !== undefined) return { type: 'redacted_thinking', data: redacted, ...signer(signedBy) };
  if (signature === undefined) return { type: 'thinking', thinking: text ?? '' };
  return { type: 'thinking', thinking: text ?? '', signature, ...signer(signedBy) };
}

/** A block of another dialect that was wrapped, or undefined when it is something else. */
export function providerPart(block: JsonObject): OpaquePart | undefined {
  if (block.type !== 'provider_block') return undefined;
  const dialect = (textIn(block.dialect) ?? 'openai-chat') as DialectName;
  return { type: 'opaque', dialect, raw: objectIn(block.block) };
}

/** Mistral gives thoughts as a list of texts. */
export function thinkingText(thinking: unknown): string | undefined {
  if (!Array.isArray(thinking)) return someTextIn(thinking);
  return (
    objectsIn(thinking)
      .map((piece) => textIn(piece.text) ?? '')
      .join('') || undefined
  );
}

const THINKING = new Set(['type', 'thinking', 'signature', 'signed_by']);
const REDACTED = new Set(['type', 'data', 'signed_by']);

/** A thought in a block, or undefined when it is something else. */
export function reasoningPart(block: JsonObject): ReasoningPart | undefined {
  const signedBy = (textIn(block.signed_by) ?? 'anthropic') as DialectName;
  if (block.type === 'redacted_thinking') {
    const rest = restOf(block, REDACTED);
    const ext = rest && { 'openai-chat': rest };
    return present<ReasoningPart>({ type: 'reasoning', redacted: textIn(block.data) ?? '', signedBy, ext });
  }
  if (block.type !== 'thinking') return undefined;
  const text = thinkingText(block.thinking);
  const signature = someTextIn(block.signature);
  const rest = restOf(block, THINKING);
  return present<ReasoningPart>({
    type: 'reasoning',
    text,
    signature,
    signedBy: signature === undefined ? undefined : signedBy,
    ext: rest && { 'openai-chat': rest },
  });
}
