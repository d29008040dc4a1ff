import { readFileSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Engine } from '../storage/migrate.ts';
import type { AuditHeadRow } from '../storage/schema.ts';

const HEADS_FILE = 'audit-heads.json';

/** An end of a chain as the data dir keeps it: an embedded store and a PostgreSQL that follows it are two installations. */
type KeptHead = AuditHeadRow & { readonly engine: Engine };

const isLater = (head: AuditHeadRow, before: AuditHeadRow | undefined): boolean =>
  before === undefined || Number(head.number) > Number(before.number);

/** The ends of chains that this machine has seen. Throws when they cannot be read: they are demanded, not optional. */
export function keptHeads(dataDir: string, engine: Engine): AuditHeadRow[] {
  return readHeads(join(dataDir, HEADS_FILE))
    .filter((head) => head.engine === engine)
    .map(({ engine: _, ...head }) => head);
}

function readHeads(file: string): KeptHead[] {
  try {
    const heads: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (Array.isArray(heads)) return heads;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
  }
  throw new Error(
    `${file} is damaged. It proves that the audit log is whole: restore it from a backup, or move it away to go on without that proof.`,
  );
}

/**
 * Keeps the ends of chains in the data dir, out of reach of a person who has the database alone. Several processes may
 * share the folder: each adds what it knows to what the others have written. The file may be older than the chain, never
 * newer: an end is kept after the commit that made it.
 */
export function headsFile(dataDir: string, engine: Engine) {
  const file = join(dataDir, HEADS_FILE);
  let next: readonly AuditHeadRow[] | null = null;
  let writing: Promise<void> | null = null;

  const write = async (heads: readonly AuditHeadRow[]) => {
    const merged = new Map<string, KeptHead>();
    const add = (head: KeptHead): boolean => {
      const key = `${head.engine} ${head.organisation_id}`;
      const isNews = isLater(head, merged.get(key));
      if (isNews) merged.set(key, head);
      return isNews;
    };
    for (const head of readHeads(file)) add(head);
    const news = heads.filter((head) => add({ ...head, engine }));
    // Told twice a second. Read each time all the same: another process may have put an older end in the place of ours.
    if (news.length === 0) return;
    const aside = `${file}.${process.pid}.new`;
    const handle = await open(aside, 'w', 0o600);
    try {
      await handle.writeFile(`${JSON.stringify([...merged.values()])}\n`);
      // Without it a power cut could leave an empty file behind, which would count as damaged.
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(aside, file);
  };
  const run = async () => {
    while (next) {
      const heads = next;
      next = null;
      // A full disk stops much, but not the audit log: the node still holds the ends in memory.
      await write(heads).catch(() => {});
    }
    writing = null;
  };

  return {
    /** Writes soon; what is told meanwhile is written together. */
    keep: (heads: readonly AuditHeadRow[]): void => {
      next = heads;
      writing ??= run();
    },
    flush: async (): Promise<void> => {
      await writing;
    },
  };
}
