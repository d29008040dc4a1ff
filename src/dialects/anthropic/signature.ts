import type { DialectName, ReasoningPart } from '../ir.ts';

const MARK = 'gateway.';

/**
 * Clients of this dialect send `signature` and `data` of thoughts back as they got them. What another provider signed
 * travels in the same members, with its maker's dialect before it, and so finds its way home.
 */
export const sealed = (opaque: string, maker: DialectName | undefined): string =>
  maker === undefined || maker === 'anthropic' ? opaque : `${MARK}${maker}.${opaque}`;

export function unsealed(opaque: string): { readonly opaque: string; readonly signedBy: DialectName } {
  if (!opaque.startsWith(MARK)) return { opaque, signedBy: 'anthropic' };
  const end = opaque.indexOf('.', MARK.length);
  return { opaque: opaque.slice(end + 1), signedBy: opaque.slice(MARK.length, end) as DialectName };
}

export function thinkingPart(thinking: string, signature: string | undefined): ReasoningPart {
  const text = thinking ? { text: thinking } : {};
  if (!signature) return { type: 'reasoning', ...text };
  const { opaque, signedBy } = unsealed(signature);
  return { type: 'reasoning', ...text, signature: opaque, signedBy };
}

export function redactedPart(data: string): ReasoningPart {
  const { opaque, signedBy } = unsealed(data);
  return { type: 'reasoning', redacted: opaque, signedBy };
}
