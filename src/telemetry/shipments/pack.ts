import { createHash } from 'node:crypto';
import { createReadStream, mkdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { LogDetail } from '../log-query.ts';
import { writeLines } from './lines.ts';
import { writeParquet } from './parquet.ts';
import { EXTENSIONS, type Shipment, type ShipmentFile, type ShipmentOrder } from './shipment.ts';
import type { Begun } from './waiting.ts';

/** What a thread that packs needs of the log. */
export interface PackingStore {
  /** Of those that are still there: when their calls began, and whose they are. */
  placesOf(ids: readonly string[]): Promise<readonly EntryPlace[]>;
  /** In the order of the ids. */
  readAll(ids: readonly string[], withBodies: boolean): Promise<readonly LogDetail[]>;
}

export interface EntryPlace {
  readonly id: string;
  readonly created_at: number;
  readonly workspace_id: string | null;
}

/** Entries that are asked about at once, and those that are in memory at once, with their bodies. */
const LOOK_AT = 500;
const HOLD = 20;

/** Lays the entries of a shipment into files, one for each day and workspace, one after the other. */
export async function packShipment(
  { name, ids }: Begun,
  { format, withBodies, folder }: ShipmentOrder,
  store: PackingStore,
): Promise<Shipment> {
  const place = join(folder, name);
  rmSync(place, { recursive: true, force: true });
  mkdirSync(place, { recursive: true });
  const files: ShipmentFile[] = [];
  let found = 0;
  for (const group of await groupsOf(ids, store)) {
    const path = join(place, `${files.length}.${EXTENSIONS[format]}`);
    const entries = await (format === 'parquet' ? writeParquet : writeLines)(
      path,
      entriesOf(group.ids, withBodies, store),
    );
    found += entries;
    if (entries === 0) continue;
    const { date, workspaceId } = group;
    files.push({ path, date, workspaceId, entries, bytes: statSync(path).size, sha256: await sha256Of(path) });
  }
  return { name, files, missing: ids.length - found };
}

interface Group {
  readonly date: string;
  readonly workspaceId: string | null;
  readonly ids: string[];
}

async function groupsOf(ids: readonly string[], store: PackingStore): Promise<Group[]> {
  const groups = new Map<string, Group>();
  for (let at = 0; at < ids.length; at += LOOK_AT) {
    for (const { id, created_at, workspace_id: workspaceId } of await store.placesOf(ids.slice(at, at + LOOK_AT))) {
      const date = new Date(created_at).toISOString().slice(0, 10);
      const key = `${date} ${workspaceId}`;
      const group = groups.get(key) ?? { date, workspaceId, ids: [] };
      group.ids.push(id);
      groups.set(key, group);
    }
  }
  return [...groups.entries()].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, group]) => group);
}

async function* entriesOf(
  ids: readonly string[],
  withBodies: boolean,
  store: PackingStore,
): AsyncGenerator<LogDetail, void> {
  for (let at = 0; at < ids.length; at += HOLD) yield* await store.readAll(ids.slice(at, at + HOLD), withBodies);
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest('hex');
}
