import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkspaceId } from '../core/ids.ts';
import { newObjectId } from '../core/object-ids.ts';
import type { BatchRow } from '../storage/schema.ts';
import type { Db } from '../storage/store.ts';
import type { Kind, Lease } from '../work/work.ts';
import { hasEnded } from './batch.ts';
import { type BatchDeps, end, FINISH, failWith } from './kinds.ts';

const ROWS_AT_ONCE = 50;
const FORGOTTEN_AT_ONCE = 250;
/** The embedded store answers without giving other requests a turn, so they get one after each group. */
const BREATH_MS = 5;
const OUTPUT_LIVES_SECONDS = 30 * 86_400;

/** What the error file says of requests that were not made. */
const UNMADE = {
  expired: {
    code: 'batch_expired',
    message: 'This request could not be executed before the completion window expired.',
  },
  cancelled: { code: 'batch_cancelled', message: 'This request was not executed because the batch was cancelled.' },
  none: { code: 'server_error', message: 'This request could not be executed: the gateway failed to carry it out.' },
  unanswered: { code: 'server_error', message: 'The provider ended the batch without an answer to this request.' },
};

const ENDINGS = { expired: 'expired', cancelled: 'cancelled', none: 'completed' } as const;

/** Writes the files, publishes them together with the last status, and then removes what they were made of. */
export function finishKind(deps: BatchDeps): Kind {
  const { store, table } = deps;
  return {
    name: FINISH,
    concurrency: 2,
    // A store of blobs may be away for hours.
    maxAttempts: 500,
    run: async (lease) => {
      const batch = await table.read(store.db, lease.work.ref);
      if (batch?.native) deps.settleHold?.(batch);
      if (batch && !hasEnded(batch.status)) await publish(batch, lease, deps);
      const forget = (db: Db) => table.forgetLines(db, batch!.id, FORGOTTEN_AT_ONCE);
      while (batch && (await lease.transaction(forget, { flush: 'later' }))) {
        lease.signal.throwIfAborted();
        await sleep(BREATH_MS);
      }
      await lease.transaction((db) => lease.done(db));
    },
    failed: async (db, work) => {
      const batch = await table.lock(db, work.ref);
      if (!batch || hasEnded(batch.status)) return;
      const errors = [{ code: 'server_error', message: 'The output could not be written.', param: null, line: null }];
      await failWith(db, batch, errors, deps);
    },
    cancelled: async () => {},
  };
}

async function publish(batch: BatchRow, lease: Lease, deps: BatchDeps): Promise<void> {
  const { store, table, files } = deps;
  const { completed = 0 } = (await table.countResults(store.db, [batch.id])).get(batch.id) ?? {};
  // Cancelled before its input was found to be good: nothing was made of it.
  const total = batch.total ?? 0;
  const failed = total - completed;
  const keep = (file: 'output' | 'error') => files.keep(linesOfFile(batch, file, lease, deps));
  const output = completed > 0 ? await keep('output') : null;
  const errors = failed > 0 ? await keep('error') : null;
  await lease.transaction(async (db) => {
    const current = await table.lock(db, batch.id);
    if (!current || hasEnded(current.status)) return;
    const insert = async (name: string, segment: typeof output) =>
      segment &&
      (
        await files.insert(db, {
          workspaceId: batch.workspace_id as WorkspaceId,
          userId: batch.user_id,
          filename: `${batch.id}_${name}.jsonl`,
          purpose: 'batch_output',
          segments: [segment],
          livesSeconds: batch.output_lives_seconds ?? OUTPUT_LIVES_SECONDS,
        })
      ).id;
    await end(db, current, ENDINGS[batch.stop ?? 'none'], deps, {
      completed,
      failed,
      output_file_id: await insert('output', output),
      error_file_id: await insert('error', errors),
    });
  });
}

async function* linesOfFile(
  batch: BatchRow,
  file: 'output' | 'error',
  lease: Lease,
  { store, table, litter }: BatchDeps,
): AsyncGenerator<Uint8Array> {
  for (let after = -1; ; ) {
    lease.signal.throwIfAborted();
    const rows = await table.linesOfFile(store.db as Db, batch.id, file, after, ROWS_AT_ONCE);
    if (rows.length === 0) return;
    const unmade = JSON.stringify(UNMADE[batch.stop ?? (batch.mode === 'native' ? 'unanswered' : 'none')]);
    const text = rows.map(({ id, custom_id: customId, response, error }) => {
      const requestId = JSON.stringify(id ?? newObjectId('batchRequest'));
      const outcome = id === null ? `null,"error":${unmade}` : `${response ?? 'null'},"error":${error ?? 'null'}`;
      return `{"id":${requestId},"custom_id":${customId},"response":${outcome}}\n`;
    });
    const bytes = Buffer.from(text.join(''));
    litter.add(bytes.length);
    yield bytes;
    after = rows.at(-1)!.number;
  }
}
