import type { Database } from 'bun:sqlite';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openBlobs } from '../files/open-blobs.ts';
import { createEgressPolicy } from '../http/egress.ts';
import { createUpstream } from '../http/upstream.ts';
import type { Settings } from '../settings.ts';
import { moveIn } from '../storage/move-mark.ts';
import { postgresPool } from '../storage/postgres.ts';
import { openPostgres, openSqlite } from '../storage/store.ts';
import { openLogStore } from '../telemetry/log-store.ts';
import { readArguments, UsageError } from './arguments.ts';
import { copyBlobs, copyChunks, countBlobs, countChunks, verifyBlobs, verifyChunks } from './moving/contents.ts';
import { copyTable } from './moving/copy.ts';
import { isOfEntries, writeEntries } from './moving/log.ts';
import { openSource, type Source } from './moving/source.ts';
import { countOf, type Table, tablesOf } from './moving/tables.ts';
import { type Mark, markIn, occupiedTable, removeMark, type Target, targetOn, writeMark } from './moving/target.ts';
import { verifyTable } from './moving/verify.ts';
import { showBar } from './progress.ts';

const USAGE = `gateway move --to <postgres://…> [--without-log]

Moves everything from the embedded store in GATEWAY_DATA_DIR to an empty PostgreSQL database: keys, credentials, users,
threads, files, vector stores, batches, jobs, budgets, the audit log, figures and the request log. The gateway must not run.
It is compared afterwards, row by row. When it is cut off, run it again: it goes on where it was.

  --to <address>   the database
  --to-file <file> a file with its address: what is typed with a password, others on this machine can read
  --without-log    leave the entries of the request log behind; figures of them go along
`;

const options = {
  to: { type: 'string' },
  'to-file': { type: 'string' },
  'without-log': { type: 'boolean', default: false },
} as const;

const PATIENT_MS = 30_000;

export async function move(settings: Settings, rest: readonly string[]): Promise<void> {
  const { values } = readArguments(rest, { options, positionals: 0, usage: USAGE });
  const url = addressIn(values);
  const source = await openSource(settings.dataDir);
  const pool = postgresPool(url, 2, PATIENT_MS);
  try {
    const connection = await pool.connect();
    try {
      await moveTo(settings, { source, url, target: targetOn(connection), withLog: !values['without-log'] });
    } finally {
      connection.release();
    }
  } finally {
    await pool.end();
    source.close();
  }
}

function addressIn(values: { readonly to?: string; readonly 'to-file'?: string }): string {
  const file = values['to-file'];
  if ((values.to === undefined) === (file === undefined))
    throw new UsageError(`Give the database with --to or with --to-file.\n\n${USAGE}`);
  const url = values.to ?? addressInFile(file!);
  if (!/^postgres(ql)?:\/\//.test(url) || !URL.canParse(url))
    throw new UsageError(`The address of the database must begin with postgres://.\n\n${USAGE}`);
  return url;
}

function addressInFile(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new Error(`--to-file ${file} cannot be read (${(error as Error).message}).`);
  }
}

interface Moving {
  readonly source: Source;
  readonly url: string;
  readonly target: Target;
  readonly withLog: boolean;
}

/** Where one table of the embedded store is. */
interface Part {
  readonly file: Database;
  readonly table: Table;
  readonly rows: number;
}

async function moveTo(settings: Settings, { source, url, target, withLog }: Moving): Promise<void> {
  const { dataDir } = settings;
  const mark = await beginOrGoOn({ source, url, target, withLog });
  const parts = partsOf(source, mark);
  const store = await openPostgres(url);
  const embedded = openSqlite(':memory:');
  try {
    const upstream = createUpstream({
      egress: createEgressPolicy({
        trustedHosts: [...settings.trustedCustomHosts],
        proxy: settings.egressProxy,
      }),
    });
    const from = openBlobs({ s3: null, store: embedded, dataDir, upstream });
    const to = openBlobs({ s3: settings.blobs, store, dataDir, upstream });
    const rows = parts.reduce((sum, part) => sum + part.rows, 0);
    const blobs = await countBlobs(from);
    const chunks = source.search ? countChunks(source.search) : 0;

    const copied = showBar({ what: 'rows and files copied', total: rows + blobs + chunks });
    for (const { file, table } of parts)
      await copyTable({
        ...{ from: file, table, target, mark, progress: copied },
        write: table.name === 'request_logs' ? writeEntries(dataDir, target) : undefined,
      });
    if (source.search)
      await copyChunks(
        { search: source.search, state: source.state },
        { db: store.db, target, mark, progress: copied },
      );
    await copyBlobs(from, to, copied);
    copied.end();

    const compared = showBar({ what: 'rows and files compared', total: rows + blobs });
    for (const { file, table } of parts)
      await verifyTable({
        ...{ from: file, table, target, progress: compared },
        except: table.name === 'request_logs' ? ['body_place'] : [],
        isOwn: table.name === 'facts' ? ({ name }) => name === moveIn.fact : undefined,
      });
    if (source.search) await verifyChunks({ search: source.search, state: source.state }, target);
    await verifyBlobs(from, to, compared);
    compared.end();

    // A process that is killed between the two leaves two stores that do not start; the operator moves again.
    leaveBehind(dataDir, url);
    await removeMark(target);
    console.log(`Moved ${rows} rows of ${parts.length} tables and ${blobs} files to ${shownAddress(url)}.`);
    console.log(next(settings, mark));
  } finally {
    await store.close();
    await embedded.close();
  }
}

/** An operator who goes on with a move that was cut off gets what they asked for at first. */
async function beginOrGoOn({ source, url, target, withLog }: Moving): Promise<Mark> {
  const known = await markIn(target);
  if (known) {
    if (known.from !== source.organisationId)
      throw new Error('A move of another installation into this database is not finished. Give another database.');
    if (known.withLog !== withLog)
      throw new Error(
        `The move that is to go on was begun ${known.withLog ? 'without' : 'with'} --without-log: say the same again.`,
      );
    console.log('Going on with the move that was cut off.');
    return known;
  }
  const occupied = await occupiedTable(target);
  if (occupied)
    throw new Error(
      `The database is not empty: ${occupied} has rows. Nothing was written; give an empty database, or remove what is there.`,
    );
  if (!withLog) refuseUnshipped(source);
  const store = await openPostgres(url);
  try {
    await store.migrate();
  } finally {
    await store.close();
  }
  const log = await openLogStore({ engine: 'postgres', url }, 'writer');
  await log.close();
  const mark: Mark = { from: source.organisationId, withLog, tables: {} };
  await writeMark(target, mark);
  return mark;
}

function refuseUnshipped({ log }: Source) {
  if (countOf(log, { name: 'request_log_unshipped' }) > 0)
    throw new Error('Entries of the request log wait to be exported: move the log, too, or let the export finish.');
}

/** Whatever grows with the log comes last. */
function partsOf({ state, log, search }: Source, { withLog }: Mark): Part[] {
  const of = (file: Database) => tablesOf(file).map((table) => ({ file, table, rows: countOf(file, table) }));
  const ofLog = of(log).filter(({ table }) => withLog || !isOfEntries(table.name));
  return [...of(state), ...(search ? of(search) : []), ...ofLog];
}

function leaveBehind(dataDir: string, url: string) {
  const file = join(dataDir, moveIn.file);
  writeFileSync(file, JSON.stringify({ to: shownAddress(url), at: new Date().toISOString() }), { flush: true });
}

/** Without its password. */
function shownAddress(url: string): string {
  const { hostname, port, pathname } = new URL(url);
  return `${hostname}${port && `:${port}`}${pathname}`;
}

const next = ({ dataDir, encryptionKey }: Settings, { withLog }: Mark): string => {
  const key = encryptionKey
    ? 'the same GATEWAY_ENCRYPTION_KEY'
    : `GATEWAY_ENCRYPTION_KEY_FILE=${join(dataDir, 'encryption-key')} (or that key as GATEWAY_ENCRYPTION_KEY)`;
  return [
    `Start every node with DATABASE_URL set to it, and ${key}: credentials are sealed with it.`,
    ...(withLog ? [] : ['The request log begins anew; figures go on.']),
    `What was in ${dataDir} stays there as it was; the gateway does not start on it any more.`,
  ].join('\n');
};
