import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';

/** What a derived key may be used for. One master secret never serves two purposes directly. */
export type Purpose =
  | 'virtual-key'
  | 'config'
  | 'proof'
  | 'managed'
  | 'mcp-server'
  | 'mcp-session'
  | 'mcp-user-token'
  | 'mcp-oauth'
  | 'guardrail'
  | 'webhook'
  | 'alert-channel'
  | 'audit'
  | 'session'
  | 'login'
  | 'machine-tokens'
  | 'thought'
  | 'ending'
  | 'work-proof'
  | 'response'
  | 'compaction'
  | 'realtime-secret'
  | 'realtime-call';

/** Seals small secrets at rest: AES-256-GCM, a key per purpose, bound to a context such as the row's id. */
export interface Sealer {
  seal(purpose: Purpose, context: string, plain: string): string;
  /** Throws when the text was altered, moved to another context, or sealed under another master secret. */
  open(purpose: Purpose, context: string, sealed: string): string;
  /** HMAC-SHA256 of the text, base64url. Without the master secret, no code for another text can be made. */
  sign(purpose: Purpose, text: string): string;
}

export function createSealer(master: Uint8Array): Sealer {
  const keys = new Map<string, Buffer>();
  const keyFor = (purpose: Purpose | `${Purpose} signature`) => {
    let key = keys.get(purpose);
    if (!key) {
      key = Buffer.from(hkdfSync('sha256', master, 'gateway', purpose, 32));
      keys.set(purpose, key);
    }
    return key;
  };
  return {
    seal: (purpose, context, plain) => {
      const nonce = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', keyFor(purpose), nonce).setAAD(Buffer.from(context));
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return `v1.${nonce.toString('base64url')}.${body.toString('base64url')}`;
    },
    open: (purpose, context, sealed) => {
      const [version, nonce, body] = sealed.split('.');
      if (version !== 'v1' || !nonce || !body) throw new Error('sealed value has an unknown form');
      const bytes = Buffer.from(body, 'base64url');
      const decipher = createDecipheriv('aes-256-gcm', keyFor(purpose), Buffer.from(nonce, 'base64url'))
        .setAAD(Buffer.from(context))
        .setAuthTag(bytes.subarray(-16));
      return Buffer.concat([decipher.update(bytes.subarray(0, -16)), decipher.final()]).toString('utf8');
    },
    // Under another label than what seals: the same key must not serve two algorithms.
    sign: (purpose, text) =>
      createHmac('sha256', keyFor(`${purpose} signature`))
        .update(text)
        .digest('base64url'),
  };
}

/** On the path of every call: the one-shot form, which makes no hasher object. */
export const sha256 = (text: string): string => Bun.SHA256.hash(text, 'hex');

/** Enough of a secret to recognise it, too little to use it. */
export const mask = (secret: string): string =>
  secret.length < 12 ? '***' : `${secret.slice(0, 3)}***${secret.slice(-3)}`;
