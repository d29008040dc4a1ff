import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';
import * as z from 'zod';
import { toIso } from '../core/clock.ts';
import { fail } from '../core/errors.ts';
import { lineAt, lineOf, syntaxFault } from '../core/json-fault.ts';
import { type PriceFile, priceFile } from '../core/price-file.ts';
import type { Witnessed } from '../core/principal.ts';
import { schemaOf } from '../core/schema.ts';
import { fetchSmall, type Upstream } from '../http/upstream.ts';
import type { Changes } from '../storage/changes.ts';
import type { Db, Store } from '../storage/store.ts';

/** A list of prices that is held for all nodes, below the operator's file and over the built-in list. */
export interface SyncedPrices {
  readonly object: 'price_list';
  /** Where it came from: an address, or the name of a file. */
  readonly source: string;
  readonly sha256: string;
  readonly as_of: string | null;
  readonly models: number;
  readonly synced_at: string;
}

/** What is asked for: the bytes, or where they are, and the proof that they are the right ones. */
export interface SyncRequest {
  readonly source: string;
  /** The file itself; null: it is fetched from `source`. */
  readonly content: string | null;
  readonly sha256?: string | undefined;
  readonly signature?: string | undefined;
}

export interface PriceSync {
  read(): Promise<SyncedPrices | null>;
  sync(who: Witnessed, request: SyncRequest): Promise<SyncedPrices>;
  /** The built-in list alone is in force again. */
  remove(who: Witnessed): Promise<void>;
  /** Fetches an address and, beside it, its signature (`.sig`). Null: it is the list that is held already. */
  fetchSigned(url: string): Promise<SyncedPrices | null>;
}

export interface PriceSyncDeps {
  readonly store: Store;
  readonly changes: Changes;
  readonly upstream: Upstream;
  /** Base64 of the 32 bytes of an Ed25519 key; null: signatures are refused. */
  readonly publicKey: string | null;
  readonly now: () => number;
}

/** The fact that holds the list. */
const FACT = 'prices';
const MOST_BYTES = 4 << 20;

interface Stored extends SyncedPrices {
  readonly file: PriceFile;
}

export function createPriceSync({ store, changes, upstream, publicKey, now }: PriceSyncDeps): PriceSync {
  const key = publicKey === null ? null : ed25519(publicKey);

  const keep = async (who: Witnessed, text: string, source: string): Promise<SyncedPrices> => {
    const file = checked(text);
    const stored: Stored = {
      object: 'price_list',
      source,
      sha256: sha256Of(text),
      as_of: file.as_of ?? null,
      models: Object.values(file.prices).reduce((sum, models) => sum + Object.keys(models).length, 0),
      synced_at: toIso(now()),
      file,
    };
    await changes.transaction('prices', (db) => write(db, JSON.stringify(stored)), who);
    return shown(stored);
  };

  const fetched = async (url: string): Promise<string> => {
    const response = await fetchSmall(upstream, url, { maxBytes: MOST_BYTES, timeoutMs: 30_000 });
    if (response.status !== 200) refuse(`${new URL(url).host} answered ${response.status}`);
    return response.text();
  };

  return {
    read: async () => {
      const stored = await readStored(store.db);
      return stored && shown(stored);
    },
    sync: async (who, { source, content, sha256, signature }) => {
      if (sha256 === undefined && signature === undefined) refuse('give its sha256, or its signature');
      if (signature !== undefined && key === null)
        refuse('GATEWAY_PRICES_SYNC_KEY is not set, so no signature can be checked');
      const text = content ?? (await fetched(source));
      if (sha256 !== undefined && sha256Of(text) !== sha256.toLowerCase())
        refuse(`its sha256 is ${sha256Of(text)}, not ${sha256.toLowerCase()}`);
      if (signature !== undefined && !isSigned(text, signature, key!)) refuse('its signature does not fit');
      return keep(who, text, source);
    },
    remove: (who) =>
      changes.transaction(
        'prices',
        async (db) => void (await db.deleteFrom('facts').where('name', '=', FACT).execute()),
        who,
      ),
    fetchSigned: async (url) => {
      const text = await fetched(url);
      const signature = (await fetched(`${url}.sig`)).trim();
      if (key === null || !isSigned(text, signature, key)) refuse('its signature does not fit');
      const held = await readStored(store.db);
      return held?.sha256 === sha256Of(text) ? null : keep({}, text, url);
    },
  };
}

/** The list that is held, for the prices in force. */
export const syncedPrices = async (db: Db): Promise<PriceFile | null> => (await readStored(db))?.file ?? null;

async function readStored(db: Db): Promise<Stored | null> {
  const row = await db.selectFrom('facts').select('value').where('name', '=', FACT).executeTakeFirst();
  return row ? (JSON.parse(row.value) as Stored) : null;
}

async function write(db: Db, value: string): Promise<void> {
  await db
    .insertInto('facts')
    .values({ name: FACT, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute();
}

const shown = ({ file: _, ...rest }: Stored): SyncedPrices => rest;
const sha256Of = (text: string): string => createHash('sha256').update(text).digest('hex');
const refuse = (why: string): never => fail('prices_refused', why);

/** With the line of the first fault; nothing is kept of a file that has one. */
function checked(text: string): PriceFile {
  if (Buffer.byteLength(text) > MOST_BYTES) refuse(`it is larger than ${MOST_BYTES} bytes`);
  const broken = syntaxFault(text);
  if (broken !== null) refuse(`line ${lineAt(text, broken)}: it is not JSON`);
  const parsed = schemaOf(priceFile).safeParse(JSON.parse(text));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = issue?.path ?? [];
  return refuse(`line ${lineOf(text, path)}: ${path.length > 0 ? `${z.core.toDotPath(path)}: ` : ''}${issue?.message}`);
}

/** What stands in front of the 32 bytes in the usual form of a public key. */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex');

export function ed25519(base64: string): KeyObject {
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length !== 32) throw new Error('give the 32 bytes of an Ed25519 public key in base64');
  return createPublicKey({ key: Buffer.concat([SPKI, bytes]), format: 'der', type: 'spki' });
}

function isSigned(text: string, signature: string, key: KeyObject): boolean {
  const bytes = Buffer.from(signature, 'base64');
  return bytes.length === 64 && verify(null, Buffer.from(text), key, bytes);
}
