import { createHash, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { Secret } from '../core/secret.ts';

/** Who the gateway is to a server that asks for a certificate, and which authorities may vouch for that server. */
export interface ClientTls {
  /** Tells it from every other, without its secret: connections are shared only within one of these. */
  readonly id: string;
  /** In PEM: its own first, then those between it and its authority. Null: the gateway shows none. */
  readonly certificate: string | null;
  readonly privateKey: Secret | null;
  /** In PEM. Null: those that the system trusts. */
  readonly authorities: string | null;
  /** When the first of its own certificates ends, in milliseconds since the epoch. Null: it has none. */
  readonly expiresAt: number | null;
}

/** What is wrong with it, and in which part. */
export class TlsFault extends Error {
  readonly part: 'certificate' | 'privateKey' | 'authorities';

  constructor(part: TlsFault['part'], why: string) {
    super(why);
    this.part = part;
  }
}

const BEGIN = '-----BEGIN CERTIFICATE-----';
const END = '-----END CERTIFICATE-----';
const MOST_CERTIFICATES = 64;
const MOST_CHARACTERS = 256 << 10;

/**
 * The blocks of a text that holds nothing else; empty when it does. Each part is looked at once: a pattern would look for
 * an end from every beginning, and hold all calls meanwhile.
 */
function blocksIn(text: string): string[] {
  const blocks: string[] = [];
  let rest = text.trim();
  while (rest !== '' && blocks.length <= MOST_CERTIFICATES) {
    const end = rest.indexOf(END);
    if (end < 0 || !rest.startsWith(BEGIN)) return [];
    blocks.push(rest.slice(0, end + END.length));
    rest = rest.slice(end + END.length).trim();
  }
  return blocks;
}

function certificatesIn(text: string, part: TlsFault['part']): X509Certificate[] {
  const blocks = text.length <= MOST_CHARACTERS ? blocksIn(text) : [];
  if (blocks.length === 0 || blocks.length > MOST_CERTIFICATES)
    throw new TlsFault(part, `give certificates in PEM, at most ${MOST_CERTIFICATES}, and nothing else`);
  return blocks.map((block, index) => {
    try {
      return new X509Certificate(block);
    } catch {
      throw new TlsFault(part, `certificate ${index + 1} cannot be read; give it in PEM`);
    }
  });
}

function keyIn(text: string): KeyObject {
  try {
    return createPrivateKey(text);
  } catch {
    throw new TlsFault('privateKey', 'cannot be read; give a private key in PEM, without a password');
  }
}

interface Given {
  readonly certificate: string | null;
  readonly privateKey: string | null;
  readonly authorities: string | null;
}

/** Reads and checks it. Throws `TlsFault`. Null: nothing was given. */
export function readClientTls({ certificate, privateKey, authorities }: Given): ClientTls | null {
  if (certificate === null && privateKey === null && authorities === null) return null;
  if (certificate !== null && privateKey === null)
    throw new TlsFault('privateKey', 'is missing; a certificate is of no use without its key');
  if (certificate === null && privateKey !== null)
    throw new TlsFault('certificate', 'is missing; a private key is of no use without its certificate');
  if (authorities !== null) certificatesIn(authorities, 'authorities');
  let expiresAt: number | null = null;
  if (certificate !== null && privateKey !== null) {
    const [own] = certificatesIn(certificate, 'certificate') as [X509Certificate];
    if (!own.checkPrivateKey(keyIn(privateKey)))
      throw new TlsFault('privateKey', 'is not the key of the certificate, which must be the first one given');
    expiresAt = Date.parse(own.validTo);
  }
  const id = createHash('sha256')
    .update(JSON.stringify([certificate, privateKey, authorities]))
    .digest('hex');
  return { id, certificate, privateKey: privateKey === null ? null : new Secret(privateKey), authorities, expiresAt };
}

/** In the words of Bun's sockets and Node's. */
export const tlsOptions = ({ certificate, privateKey, authorities }: ClientTls) => ({
  ...(certificate !== null && privateKey !== null && { cert: certificate, key: privateKey.reveal() }),
  ...(authorities !== null && { ca: authorities }),
});
