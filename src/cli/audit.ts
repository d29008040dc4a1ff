import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { headsIn as chainHeads, doubtAbout } from '../audit/chain-doubt.ts';
import { endOf } from '../audit/chain-end.ts';
import { keptHeads } from '../audit/heads-file.ts';
import { type Verdict, verifyChain } from '../audit/verify.ts';
import { openWitnesses } from '../audit-witnesses.ts';
import { createSealer } from '../crypto/seal.ts';
import { createEgressPolicy } from '../http/egress.ts';
import { createUpstream } from '../http/upstream.ts';
import type { Settings } from '../settings.ts';
import { connectRedis } from '../storage/redis.ts';
import type { AuditHeadRow } from '../storage/schema.ts';
import { type Db, openStore, type Store } from '../storage/store.ts';
import { readArguments, UsageError } from './arguments.ts';
import { restartAudit } from './audit-restart.ts';
import { encryptionKeyIn } from './data-dir.ts';

const USAGE = `gateway audit verify [--head <file>]      prove that no record of the audit log was changed, removed or added
gateway audit head                        print the signed end of the audit log, to be kept elsewhere
gateway audit restart --reason <words>    go on with a log of which records are lost, and record that

  --head <file>      what "gateway audit head" printed earlier, or a file that is a witness: the log must still hold
                     everything it held then
  --reason <words>   why they are lost, for the record: "restored the backup of Monday"
`;

const LONGEST_REASON = 1_000;

/** All but `restart` read only. Each may run beside a gateway. Exit code 1 when the log was tampered with. */
export async function audit(settings: Settings, rest: string[]): Promise<void> {
  const { positionals, values } = readArguments(rest, {
    options: { head: { type: 'string' }, reason: { type: 'string' } },
    positionals: 1,
    usage: USAGE,
  });
  const [command] = positionals;
  if (command !== 'verify' && command !== 'head' && command !== 'restart')
    throw new UsageError(`"${command}" is none of these.\n\n${USAGE}`);
  const reason = values.reason?.trim() ?? '';
  if (command === 'restart' && (reason === '' || reason.length > LONGEST_REASON))
    throw new UsageError(`--reason is needed, of at most ${LONGEST_REASON} characters.\n\n${USAGE}`);
  const { dataDir } = settings;
  const databaseUrl = settings.databaseUrl?.reveal() ?? null;
  if (databaseUrl === null && !existsSync(join(dataDir, 'state.db')))
    throw new Error(`There is no database in ${dataDir}: set GATEWAY_DATA_DIR or DATABASE_URL as the gateway has it.`);
  const store = await openStore({ databaseUrl, dataDir });
  try {
    if (command === 'head') return await printHeads(store.db);
    const sealer = createSealer(encryptionKeyIn(dataDir, settings.encryptionKey));
    const ids = await organisations(store.db);
    const kept = await gatherHeads(settings, { store, organisations: ids, file: values.head });
    if (command === 'restart') return await restartAudit({ store, sealer, organisations: ids, kept, reason });
    for (const organisationId of ids) {
      const knownHeads = kept.filter(({ organisation_id }) => organisation_id === organisationId);
      report(await verifyChain({ db: store.db, sealer, organisationId, knownHeads, onProgress: showProgress }));
    }
    await reportMissing(store, sealer, ids, kept);
  } finally {
    await store.close();
  }
}

const organisations = async (db: Db): Promise<string[]> =>
  (await db.selectFrom('organisations').select('id').orderBy('created_at').orderBy('id').execute()).map(({ id }) => id);

/** Every end of the log that is known outside of the database. A witness that does not answer leaves a doubt. */
async function gatherHeads(
  settings: Settings,
  { store, organisations: ids, file }: { store: Store; organisations: readonly string[]; file: string | undefined },
): Promise<AuditHeadRow[]> {
  const upstream = createUpstream({
    egress: createEgressPolicy({
      trustedHosts: [...settings.trustedCustomHosts],
      proxy: settings.egressProxy,
    }),
  });
  const redis = settings.redisUrl ? connectRedis(settings.redisUrl.reveal()) : null;
  const heads = [...keptHeads(settings.dataDir, store.engine), ...(file ? headsIn(file) : [])];
  try {
    for (const [place, organisationId] of ids.entries()) {
      const outside = openWitnesses(settings.auditWitnesses, { upstream, redis, organisationId, now: Date.now });
      // Only Redis keeps each organisation by itself.
      const asked = place === 0 ? outside : outside.filter(({ name }) => name === 'redis');
      for (const { name, heads: ask } of asked) {
        try {
          heads.push(...((await ask?.()) ?? []));
        } catch {
          console.error(`The witness "${name}" does not answer, so the log was not compared with what it knows.`);
          process.exitCode = 1;
        }
      }
    }
  } finally {
    redis?.close();
  }
  return heads;
}

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

function report({ organisationId, records, unsealed, head, broken, restarts }: Verdict) {
  if (process.stderr.isTTY) process.stderr.write('\r');
  for (const { record, given_up } of restarts) {
    const lost = given_up.map((end) => `${end.records} records of organisation ${end.organisation_id}`).join(', ');
    console.log(`Record ${record}: an operator went on without what was lost of a log that had ${lost}.`);
  }
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

/** Logs of organisations that the database does not know any more. */
async function reportMissing(
  store: Store,
  sealer: ReturnType<typeof createSealer>,
  ids: readonly string[],
  kept: readonly AuditHeadRow[],
) {
  const heads = await chainHeads(store.db);
  const gone = Map.groupBy(
    kept.filter(({ organisation_id }) => !ids.includes(organisation_id)),
    ({ organisation_id }) => organisation_id,
  );
  for (const [organisationId, ends] of gone) {
    const doubts = await Promise.all(ends.map((end) => doubtAbout(end, { db: store.db, sealer, heads })));
    const doubt = doubts.find((each) => each !== null);
    if (!doubt) continue;
    console.error(`Organisation ${organisationId}: the audit log does not hold. ${doubt}.`);
    process.exitCode = 1;
  }
}
