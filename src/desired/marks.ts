import { type Sealer, sha256 } from '../crypto/seal.ts';
import type { ManagedRow } from '../storage/schema.ts';
import type { Db } from '../storage/store.ts';
import { canonical, type Kind, type Shape } from './desired.ts';

/** That a file made an object, and what it last said of it. */
export interface Mark {
  readonly kind: Kind;
  readonly id: string;
  readonly ref: string;
  readonly digest: string;
}

/** Of secrets, too: therefore it is sealed wherever it is kept. */
export const digestOf = (shape: Shape): string => sha256(canonical(shape));

const context = (kind: string, id: string) => `${kind}/${id}`;

export async function readMarks(db: Db, sealer: Sealer, manager: string): Promise<Mark[]> {
  const rows = await db.selectFrom('managed').selectAll().where('manager', '=', manager).execute();
  return rows.map(({ kind, id, ref, sealed }) => ({
    kind: kind as Kind,
    id,
    ref,
    digest: sealer.open('managed', context(kind, id), sealed),
  }));
}

export async function writeMark(
  db: Db,
  sealer: Sealer,
  { manager, mark, now }: { manager: string; mark: Mark; now: number },
): Promise<void> {
  const { kind, id, ref, digest } = mark;
  const row: ManagedRow = {
    kind,
    id,
    manager,
    ref,
    sealed: sealer.seal('managed', context(kind, id), digest),
    updated_at: now,
  };
  // The object is new or has another name now; what else was noted under its id or its name is out of date.
  await db.deleteFrom('managed').where('kind', '=', kind).where('id', '=', id).execute();
  await dropMark(db, { manager, kind, ref });
  await db.insertInto('managed').values(row).execute();
}

export async function dropMark(db: Db, { manager, kind, ref }: { manager: string; kind: Kind; ref: string }) {
  await db
    .deleteFrom('managed')
    .where('manager', '=', manager)
    .where('kind', '=', kind)
    .where('ref', '=', ref)
    .execute();
}
