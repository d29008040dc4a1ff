import { open } from 'node:fs/promises';
import type { HeadWitness } from './audit/witnessing.ts';
import type { Clock } from './core/clock.ts';
import { newId } from './core/ids.ts';
import type { Secret } from './core/secret.ts';
import { signatureHeaders } from './crypto/webhook-signature.ts';
import { createS3, type S3Place } from './files/s3.ts';
import type { Upstream } from './http/upstream.ts';
import type { Redis } from './storage/redis.ts';
import type { AuditHeadRow } from './storage/schema.ts';

/** Where an operator wants the ends of the audit log to be kept, outside of the installation. */
export interface WitnessSettings {
  /** A file to which lines are added; on another machine, or one that can only grow. */
  readonly file: string | null;
  readonly webhook: { readonly url: string; readonly secret: Secret } | null;
  readonly bucket: S3Place | null;
}

interface WitnessDeps {
  readonly upstream: Upstream;
  readonly redis: Redis | null;
  readonly organisationId: string;
  readonly now: Clock;
}

export function openWitnesses({ file, webhook, bucket }: WitnessSettings, deps: WitnessDeps): HeadWitness[] {
  return [
    ...(deps.redis ? [redisWitness(deps.redis, deps.organisationId)] : []),
    ...(file === null ? [] : [fileWitness(file)]),
    ...(webhook ? [webhookWitness(webhook, deps)] : []),
    ...(bucket ? [bucketWitness(bucket, deps)] : []),
  ];
}

/** Of lines that were added over years only the latest matter. */
const TAIL_BYTES = 262_144;

function fileWitness(path: string): HeadWitness {
  return {
    name: 'file',
    keep: async (heads) => {
      const handle = await open(path, 'a', 0o600);
      try {
        await handle.appendFile(heads.map((head) => `${JSON.stringify(head)}\n`).join(''));
        await handle.sync();
      } finally {
        await handle.close();
      }
    },
    heads: async () => {
      const handle = await open(path, 'r').catch(ifMissing);
      if (!handle) return [];
      try {
        const { size } = await handle.stat();
        const tail = Buffer.alloc(Math.min(size, TAIL_BYTES));
        await handle.read(tail, 0, tail.length, size - tail.length);
        return latest(tail.toString('utf8').split('\n').flatMap(headIn));
      } finally {
        await handle.close();
      }
    },
  };
}

const ifMissing = (error: NodeJS.ErrnoException): null => {
  if (error.code === 'ENOENT') return null;
  throw error;
};

/** A line that a crash or the cut above left half is none. */
function headIn(line: string): AuditHeadRow[] {
  try {
    const head = JSON.parse(line);
    return typeof head?.organisation_id === 'string' ? [head] : [];
  } catch {
    return [];
  }
}

function latest(heads: readonly AuditHeadRow[]): AuditHeadRow[] {
  const found = new Map<string, AuditHeadRow>();
  for (const head of heads)
    if (Number(head.number) >= Number(found.get(head.organisation_id)?.number ?? 0))
      found.set(head.organisation_id, head);
  return [...found.values()];
}

const TIMEOUTS = { connectMs: 5_000, firstByteMs: 15_000, idleMs: 5_000, totalMs: 20_000 };

/** Signed like every webhook of the gateway (Standard Webhooks), so that its receiver can tell who speaks. */
function webhookWitness(
  { url, secret }: { readonly url: string; readonly secret: Secret },
  { upstream, now }: WitnessDeps,
): HeadWitness {
  return {
    name: 'webhook',
    keep: async (heads) => {
      const id = newId<string>();
      const body = JSON.stringify({ id, type: 'audit.heads', created_at: new Date(now()).toISOString(), data: heads });
      const headers = new Headers({
        'content-type': 'application/json',
        'user-agent': 'gateway-webhooks',
        'accept-encoding': 'identity',
        ...signatureHeaders({ id, body }, { current: secret.reveal() }, now()),
      });
      const incoming = await upstream.send({
        ...{ method: 'POST', url, headers, body: Buffer.from(body) },
        timeouts: TIMEOUTS,
      });
      incoming.cancel();
      if (incoming.status < 200 || incoming.status > 299) throw new Error(`the receiver answered ${incoming.status}`);
    },
  };
}

/** One object: where the bucket keeps versions, or locks them, what it was told cannot be taken back. */
function bucketWitness(place: S3Place, { upstream, now }: WitnessDeps): HeadWitness {
  const s3 = createS3({ place, upstream, now });
  const key = `${place.prefix ? `${place.prefix}/` : ''}audit-heads.json`;
  return {
    name: 'object store',
    keep: async (heads) => {
      await s3.text({ method: 'PUT', key, body: Buffer.from(`${JSON.stringify(heads)}\n`) }, [200]);
    },
    heads: async () => {
      const { status, text } = await s3.text({ method: 'GET', key }, [200, 404]);
      return status === 404 ? [] : listIn(text);
    },
  };
}

const KEPT_MS = 10 * 365 * 86_400_000;
const CONNECT_MS = 1_000;

/** For nodes whose data dir does not outlive them. */
function redisWitness(redis: Redis, organisationId: string): HeadWitness {
  const key = `gateway:audit-heads:${organisationId}`;
  return {
    name: 'redis',
    showsItself: true,
    keep: (heads) => redis.set(key, JSON.stringify(heads), { expiresMs: KEPT_MS }),
    heads: async () => {
      await redis.whenUp(CONNECT_MS);
      const kept = await redis.get(key);
      return kept === null ? [] : listIn(new TextDecoder().decode(kept));
    },
  };
}

function listIn(text: string): AuditHeadRow[] {
  const heads: unknown = JSON.parse(text);
  if (!Array.isArray(heads)) throw new Error('this is no list of ends');
  return heads;
}
