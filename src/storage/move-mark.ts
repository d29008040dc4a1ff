import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Db } from './store.ts';

/** A move of everything to another database leaves a mark on both sides: neither may be used by mistake. */
export const moveIn = {
  /** Stands in the database that is moved to, until all of it is there. */
  fact: 'move',
  /** Stands in the data dir that was moved from. */
  file: 'moved.json',
} as const;

export async function refuseHalfMoved(db: Db): Promise<void> {
  const mark = await db.selectFrom('facts').select('name').where('name', '=', moveIn.fact).executeTakeFirst();
  if (mark)
    throw new Error(
      'A move into this database is not finished. Run "gateway move" again: it goes on where it was. Until then the gateway runs on the embedded store.',
    );
}

/** What is changed here from now on would be missing there. */
export function refuseMoved(dataDir: string): void {
  const file = join(dataDir, moveIn.file);
  if (!existsSync(file)) return;
  const { to, at } = JSON.parse(readFileSync(file, 'utf8')) as { to: string; at: string };
  throw new Error(
    `Everything in ${dataDir} was moved to ${to} at ${at}. Set DATABASE_URL to that database; or remove ${file} to go on with the embedded store as it was then.`,
  );
}
