import type { DialectName, ReasoningPart } from '../ir.ts';

const MARK = 'gateway.';

/**
 * Clients of this dialect send `thoughtSignature` back as they got it; some of them read it as Base64 and write it anew.
 * What another provider signed travels in the same member, with its maker's dialect and its kind before it, and so finds
 * its way home.
 */
export function sealed({ signature, redacted, signedBy }: ReasoningPart): string | undefined {
  if (redacted === undefined && (signature === undefined || signedBy === 'gemini')) return signature;
  const kind = redacted === undefined ? 's' : 'r';
  return Buffer.from(`${MARK}${signedBy}.${kind}.${redacted ?? signature}`).toString('base64');
}

type Opened = Pick<ReasoningPart, 'signature' | 'redacted'> & { readonly signedBy: DialectName };

export function unsealed(signature: string): Opened {
  const text = signature.startsWith('Z2F0ZXdheS') ? Buffer.from(signature, 'base64').toString() : '';
  const [, signedBy, kind, opaque] = /^gateway\.([a-z-]+)\.([rs])\.([\s\S]*)$/.exec(text) ?? [];
  if (opaque === undefined) return { signature, signedBy: 'gemini' };
  const maker = { signedBy: signedBy as DialectName };
  return kind === 'r' ? { redacted: opaque, ...maker } : { signature: opaque, ...maker };
}
