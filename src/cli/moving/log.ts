import { join } from 'node:path';
import { BodySegments } from '../../telemetry/body-segments.ts';
import type { LogRow } from '../../telemetry/log-columns.ts';
import { compress } from '../../telemetry/packed-bodies.ts';
import { searchedIn } from '../../telemetry/search/said.ts';
import { postgresAdd } from '../../telemetry/search/stores.ts';
import type { Row } from './tables.ts';
import type { Target } from './target.ts';

/** Tables of entries; figures of them are kept apart, and go along in any case. */
export const isOfEntries = (table: string): boolean => table.startsWith('request_log');

/** Entries with their bodies, which lie in files beside the embedded store, and with the words that are looked for. */
export function writeEntries(dataDir: string, target: Target) {
  const segments = new BodySegments(join(dataDir, 'bodies'));
  return async (rows: readonly Row[]): Promise<Row[]> => {
    const bodies = rows.map(({ body_place }) => (body_place === null ? null : segments.read(String(body_place))));
    for (const [index, body] of bodies.entries()) {
      if (!body) continue;
      const content = Buffer.from(compress(body) ?? body);
      await target.ask('insert into request_log_bodies (log_id, content) values ($1, $2) on conflict do nothing', [
        ...[rows[index]!.id, content],
      ]);
    }
    const packed = bodies.map((body) => (body ? [body] : null));
    const searched = await searchedIn({ rows: rows as unknown as LogRow[], bodies: packed });
    if (searched.length > 0) await target.ask(...postgresAdd(searched));
    return rows.map((row) => ({ ...row, body_place: null }));
  };
}
