import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { keptHeads } from '../audit/audit.ts';
import { endOf } from '../audit/strangers.ts';
import { type Verdict, verifyChain } from '../audit/verify.ts';
import { createSealer } from '../crypto/seal.ts';
import type { Settings } from '../settings.ts';
import type { AuditHeadRow } from '../storage/schema.ts';
import { type Db, openStore } from '../storage/store.ts';
import { readArguments, UsageError } from './arguments.ts';
import { encryptionKeyIn } from './data-dir.ts';

const USAGE = `gateway audit verify [--head <file>]   prove that no record of the audit log was changed, removed or added
gateway audit head                     print the signed end of the audit log, to be kept elsewhere

  --head <file>   what "gateway audit head" printed earlier: the log must still hold everything it held then
`;

/** Reads only, so it may run beside a gateway. Exit code 1 when the log was tampered with. */
export async function audit(settings: Settings, rest: string[]): Promise<void> {
  const { positionals, values } = readArguments(rest, {
    options: { head: { type: 'string' } },
    positionals: 1,
    usage: USAGE,
  });
  const [command] = positionals;
  if (command !== 'verify' && command !== 'head') throw new UsageError(`"${command}" is none of these.\n\n${USAGE}`);
  const { dataDir } = settings;
  const databaseUrl = settings.databaseUrl?.reveal() ?? null;
  if (databaseUrl === null && !existsSync(join(dataDir, 'state.db')))
    throw new Error(`There is no database in ${dataDir}: set GATEWAY_DATA_DIR or DATABASE_URL as the gateway has it.`);
  const store = await openStore({ databaseUrl, dataDir });
  try {
    if (command === 'head') return await printHeads(store.db);
    const sealer = createSealer(encryptionKeyIn(dataDir, settings.encryptionKey));
    const heads = [...keptHeads(dataDir), ...(values.head ? headsIn(values.head) : [])];
    for (const organisationId of await organisations(store.db)) {
      const knownHeads = heads.filter(({ organisation_id }) => organisation_id === organisationId);
      report(await verifyChain({ db: store.db, sealer, organisationId, knownHeads, onProgress: showProgress }));
    }
  } finally {
    await store.close();
  }
}

const organisations = async (db: Db): Promise<string[]> =>
  (await db.selectFrom('organisations').select('id').orderBy('id').execute()).map(({ id }) => id);

async function printHeads(db: Db) {
  const heads = await Promise.all((await organisations(db)).map((id) => endOf(db, id)));
  for (const { head } of heads) if (head) console.log(JSON.stringify(head));
}

function headsIn(file: string): AuditHeadRow[] {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => JSON.parse(line));
  } catch (error) {
    throw new UsageError(`--head: ${file} does not hold what "gateway audit head" prints: ${(error as Error).message}`);
  }
}

function showProgress(records: number) {
  if (process.stderr.isTTY) process.stderr.write(`\r${records} records`);
}

function report({ organisationId, records, unsealed, head, broken }: Verdict) {
  if (process.stderr.isTTY) process.stderr.write('\r');
  if (broken === null) {
    const waiting = unsealed > 0 ? `, ${unsealed} more wait to be sealed` : '';
    console.log(`Organisation ${organisationId}: ${records} records, every one as it was written${waiting}.`);
    console.log(`Its end: ${JSON.stringify(head)}`);
    return;
  }
  const place = broken.record === null ? 'The end of the log' : `Record ${broken.record}`;
  console.error(
    `Organisation ${organisationId}: the audit log does not hold. ${records} records hold before the fault.`,
  );
  console.error(`${place}: ${broken.why}.`);
  process.exitCode = 1;
}
