import type { Clock } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import type { Secret } from '../core/secret.ts';
import { encodeReserved, signAws } from '../crypto/sigv4.ts';
import { type Incoming, type Upstream, UpstreamFailure } from '../http/upstream.ts';

/** A bucket of S3-compatible storage, and how to get in. */
export interface S3Place {
  /** Scheme and host, without a path: `https://s3.eu-west-1.amazonaws.com`. */
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  /** Without slashes at its ends; may be empty. */
  readonly prefix: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: Secret;
  /** Of credentials that live for a while only. */
  readonly sessionToken?: Secret;
}

export interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** Absent: the bucket itself. */
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

export interface S3Text {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Sends requests to one bucket, path-style, signed, through the egress policy. */
export interface S3 {
  /** Answers whatever came back with a status that was expected; throws `blob_store_unavailable` for everything else. */
  send(request: S3Request, expected: readonly number[]): Promise<Incoming>;
  /** The same, for answers that are short text. */
  text(request: S3Request, expected: readonly number[]): Promise<S3Text>;
}

const TIMEOUTS = { connectMs: 10_000, firstByteMs: 60_000, idleMs: 60_000, totalMs: 0 };
const ATTEMPTS = 3;
const FIRST_PAUSE_MS = 200;

export function createS3({ place, upstream, now }: { place: S3Place; upstream: Upstream; now: Clock }): S3 {
  const { endpoint, bucket, region, accessKeyId, secretAccessKey, sessionToken } = place;
  const credentials = {
    accessKeyId,
    secretAccessKey: secretAccessKey.reveal(),
    ...(sessionToken && { sessionToken: sessionToken.reveal() }),
  };

  const sendOnce = ({ method, key, query = {}, headers: extra, body }: S3Request): Promise<Incoming> => {
    const search = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
    const path = key === undefined ? bucket : `${bucket}/${encodeReserved(key)}`;
    const url = `${endpoint}/${path}${search.length > 0 ? `?${search.join('&')}` : ''}`;
    const headers = new Headers({ 'accept-encoding': 'identity', ...extra });
    signAws({ method, url, headers, body: body ?? null, region, service: 's3', credentials, now: now() });
    return upstream.send({ method, url, headers, body: body ?? null, timeouts: TIMEOUTS });
  };

  const send: S3['send'] = async (request, expected) => {
    for (let attempt = 1; ; attempt++) {
      const last = attempt === ATTEMPTS;
      try {
        const incoming = await sendOnce(request);
        if (expected.includes(incoming.status)) return incoming;
        const why = await reasonIn(incoming);
        if (last || incoming.status < 500) throw new GatewayError('blob_store_unavailable', [why]);
      } catch (error) {
        if (!(error instanceof UpstreamFailure)) throw error;
        if (last) throw new GatewayError('blob_store_unavailable', [`the object storage failed (${error.message})`]);
      }
      await Bun.sleep(FIRST_PAUSE_MS * 4 ** (attempt - 1));
    }
  };

  return {
    send,
    text: async (request, expected) => {
      const incoming = await send(request, expected);
      try {
        const text = new TextDecoder().decode(await incoming.bytes());
        return { status: incoming.status, headers: incoming.headers, text };
      } catch (error) {
        if (!(error instanceof UpstreamFailure)) throw error;
        throw new GatewayError('blob_store_unavailable', [`the object storage failed (${error.message})`]);
      }
    },
  };
}

async function reasonIn(incoming: Incoming): Promise<string> {
  const bytes = await Promise.resolve(incoming.bytes()).catch(() => new Uint8Array());
  const text = new TextDecoder().decode(bytes.subarray(0, 10_000));
  const code = textIn(text, 'Code');
  return `the object storage answered ${incoming.status}${code ? ` ${code.slice(0, 60)}` : ''}`;
}

/** The text of the first element of that name. S3's answers are flat enough to be read without a parser. */
export function textIn(xml: string, name: string): string | null {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  return text === undefined ? null : unescaped(text);
}

/** The inside of every element of that name. */
export const elementsIn = (xml: string, name: string): string[] =>
  [...xml.matchAll(new RegExp(`<${name}>([\\s\\S]*?)</${name}>`, 'g'))].map(([, inside]) => inside!);

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

const unescaped = (text: string) =>
  text.replace(/&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi, (whole, decimal, hexadecimal, name) => {
    if (name) return ENTITIES[name] ?? whole;
    return String.fromCodePoint(decimal ? Number(decimal) : Number.parseInt(hexadecimal, 16));
  });
