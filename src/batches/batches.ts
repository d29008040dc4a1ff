import { rememberCaller } from '../auth/work-callers.ts';
import { fail } from '../core/errors.ts';
import type { WorkspaceId } from '../core/ids.ts';
import { type List, type ListQuery, listPage } from '../core/list.ts';
import { newObjectId } from '../core/object-ids.ts';
import type { Principal } from '../core/principal.ts';
import type { StoredCredential } from '../core/stored-credential.ts';
import type { Proofs } from '../guardrails/proof.ts';
import { withinBounds } from '../storage/keyset.ts';
import type { BatchRow, FileRow } from '../storage/schema.ts';
import type { Kind } from '../work/work.ts';
import { type BatchObject, cancelled, endOfWindow, type NewBatch, shownBatch } from './batch.ts';
import { finishKind } from './finish.ts';
import { enqueueFinish, LINES, NATIVE, VALIDATE } from './kinds.ts';
import { linesKind } from './lane.ts';
import { Litter } from './litter.ts';
import { modeOf } from './native/apis.ts';
import type { NativeDeps } from './native/deps.ts';
import { settleHold as settleHoldOf } from './native/hold.ts';
import { nativeKind } from './native/kind.ts';
import { tidyKind } from './native/tidy.ts';
import { batchTable } from './table.ts';
import { NO_TOKENS } from './usage.ts';
import { validateKind } from './validate.ts';

export interface NewBatchOptions {
  readonly who: Principal;
  readonly virtualKey: StoredCredential;
  /** What each of its requests is made with. */
  readonly headers: Readonly<Record<string, string>>;
  /** What the request has proven to guardrails. */
  readonly proofs: Proofs;
}

/** Batches of workspaces: accepted here, carried out by the kinds of work. */
export interface BatchesDeps extends Omit<NativeDeps, 'table' | 'litter'> {
  /** Whether guardrails hold for whatever this caller asks: what goes to a provider in one file passes by them. */
  readonly isGuarded: (who: Principal) => Promise<boolean>;
}

export function createBatches({ isGuarded, ...parts }: BatchesDeps) {
  const table = batchTable(parts.store);
  const litter = new Litter({ isInTheWay: () => parts.gates.isGivingWay });
  const settleHold = (batch: BatchRow) => settleHoldOf(batch, parts.limits.holds);
  const deps: NativeDeps = { ...parts, table, litter, settleHold };
  const { store, files, workers, now } = deps;

  const shown = async (rows: readonly BatchRow[]): Promise<BatchObject[]> => {
    const open = rows.filter(({ completed }) => completed === null).map(({ id }) => id);
    const counts = await table.countResults(store.db, open);
    return rows.map((row) => {
      const { completed = 0, failed = 0 } = counts.get(row.id) ?? {};
      return shownBatch(row, { completed: row.completed ?? completed, failed: row.failed ?? failed });
    });
  };
  const shownOne = async (row: BatchRow): Promise<BatchObject> => (await shown([row]))[0]!;

  /** Answers false when the provider has it by now: then it is for the provider to end it. */
  const cancelManaged = (id: string): Promise<boolean> =>
    store.transaction(async (db) => {
      // Before the batch's own row: those who do the work lock in this order, too.
      const validation = await workers().cancel(db, { kind: VALIDATE, ref: id });
      const lines = await workers().cancel(db, { kind: LINES, ref: id });
      const batch = (await table.lock(db, id)) ?? fail('batch_not_found', id);
      if (isWithProvider(batch)) return false;
      const change = cancelled(batch, now());
      if (!change) return true;
      await table.change(db, id, { ...change, stop: 'cancelled' });
      if (validation.asked + lines.asked === 0) await enqueueFinish(db, batch, workers());
      return true;
    });

  /** The worker that follows the provider's job does the rest, at once. */
  const cancelNative = (id: string) =>
    workers().resume({ kind: NATIVE, ref: id }, async (db) => {
      const batch = (await table.lock(db, id)) ?? fail('batch_not_found', id);
      const change = cancelled(batch, now());
      if (change) await table.change(db, id, { ...change, stop: 'cancelled' });
    });

  return {
    /** What carries batches out, for the node's workers. */
    kinds: [validateKind(deps), linesKind(deps), nativeKind(deps), finishKind(deps), tidyKind(deps)] as readonly Kind[],

    async create(input: NewBatch, { who, virtualKey, headers, proofs }: NewBatchOptions): Promise<BatchObject> {
      const { workspaceId, userId } = who;
      const file = await files.row(workspaceId, input.input_file_id);
      if (file.purpose !== 'batch')
        fail(
          'invalid_value',
          'input_file_id',
          `Invalid 'input_file_id': ${file.id} has the purpose '${file.purpose}'. Expected a file of the purpose 'batch'.`,
        );
      const createdAt = now();
      // A config may send each request elsewhere, and a guardrail has to see each of them.
      const isSeen = 'x-gateway-config' in headers || (await isGuarded(who));
      const mode = isSeen ? 'managed' : modeOf(input, virtualKey);
      const id = newObjectId('batch', createdAt);
      const row: BatchRow = {
        id,
        workspace_id: workspaceId,
        user_id: userId,
        api_key_id: who.keyId,
        virtual_key: virtualKey.slug,
        headers: JSON.stringify({ ...headers, 'x-gateway-virtual-key': virtualKey.slug }),
        proofs: deps.proofs.seal(id, proofs),
        endpoint: input.endpoint,
        input_file_id: file.id,
        completion_window: input.completion_window,
        mode,
        native: mode === 'native' ? JSON.stringify({ provider: virtualKey.provider }) : null,
        status: 'validating',
        stop: null,
        errors: null,
        output_file_id: null,
        error_file_id: null,
        output_lives_seconds: input.output_expires_after?.seconds ?? null,
        metadata: JSON.stringify(input.metadata),
        total: null,
        completed: null,
        failed: null,
        model: null,
        ...NO_TOKENS,
        created_at: createdAt,
        expires_at: endOfWindow(createdAt),
        in_progress_at: null,
        finalizing_at: null,
        completed_at: null,
        failed_at: null,
        expired_at: null,
        cancelling_at: null,
        cancelled_at: null,
      };
      await workers().accept({ kind: VALIDATE, tenant: workspaceId, ref: row.id }, async (db) => {
        await rememberCaller(db, who, createdAt);
        await db.insertInto('batches').values(row).execute();
      });
      return shownBatch(row, { completed: 0, failed: 0 });
    },

    read: async (workspaceId: WorkspaceId, id: string): Promise<BatchObject> =>
      shownOne(await table.find(store.db, workspaceId, id)),

    async list(workspaceId: WorkspaceId, query: Pick<ListQuery, 'limit' | 'after'>): Promise<List<BatchObject>> {
      const own = store.db.selectFrom('batches').selectAll().where('workspace_id', '=', workspaceId);
      const page = await listPage({ ...query, order: 'desc' }, 'batch', {
        has: async (id) => (await own.where('id', '=', id).executeTakeFirst()) !== undefined,
        between: (bounds) => withinBounds(own, bounds).execute(),
      });
      return { ...page, data: await shown(page.data) };
    },

    /** What is under way may finish; the rest is not made any more. */
    async cancel(workspaceId: WorkspaceId, id: string): Promise<BatchObject> {
      const batch = await table.find(store.db, workspaceId, id);
      // Its input may be found to be good in this very moment.
      const isDone = !isWithProvider(batch) && (await cancelManaged(id));
      if (!isDone) await cancelNative(id);
      return shownOne(await table.find(store.db, workspaceId, id));
    },

    /** The file that holds the answers, for a download. */
    async output(workspaceId: WorkspaceId, id: string): Promise<FileRow> {
      const batch = await table.find(store.db, workspaceId, id);
      const fileId = batch.output_file_id ?? fail('batch_output_missing', id, batch.status, batch.error_file_id);
      return files.row(workspaceId, fileId);
    },
  };
}

const isWithProvider = ({ mode, status }: BatchRow): boolean => mode === 'native' && status !== 'validating';

export type Batches = ReturnType<typeof createBatches>;
