import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from '../core/errors.ts';
import type { WorkspaceId } from '../core/ids.ts';
import { unlistedIn } from '../relay/allowed-model.ts';
import type { BatchLineRow, BatchRow } from '../storage/schema.ts';
import type { Kind, Lease } from '../work/work.ts';
import { type BatchFault, entered } from './batch.ts';
import { CustomIds } from './custom-ids.ts';
import { type BatchDeps, callerOf, enqueueFinish, failWith, LINES, NATIVE, VALIDATE } from './kinds.ts';
import { lanesFor } from './lane-plan.ts';
import { type Line, linesOf } from './lines.ts';
import type { Demands, Members } from './native/api.ts';
import { nativeApi } from './native/apis.ts';
import { Sizes } from './native/sizes.ts';
import { nativeOf, nativeWith } from './native/step.ts';
import { bodyOf, LONGEST_LINE, readLine } from './request-line.ts';

const MOST_LINES = 50_000;
const MOST_FAULTS = 100;
const LINES_AT_ONCE = 100;
/** While other callers use models, most of the time is theirs. */
const BREATH_MS = 5;

const EMPTY: BatchFault = {
  code: 'empty_file',
  message: 'The input file is empty. Please ensure that the batch contains at least one request.',
  param: null,
  line: null,
};
const TOO_MANY: BatchFault = {
  code: 'too_many_tasks',
  message: `The input file has more than ${MOST_LINES} requests.`,
  param: null,
  line: null,
};

const gone = ({ input_file_id: id }: BatchRow): BatchFault => ({
  code: 'file_not_found',
  message: `The input file ${id} was deleted before it was read.`,
  param: 'input_file_id',
  line: null,
});

/** Reads the input once, notes where its requests stand, and begins with them, or says what is wrong. */
export function validateKind(deps: BatchDeps): Kind {
  const { table, workers, now } = deps;
  return {
    name: VALIDATE,
    concurrency: 2,
    maxAttempts: 20,
    run: async (lease) => {
      const batch = await table.read(deps.store.db, lease.work.ref);
      if (batch?.status !== 'validating')
        return lease.transaction((db) => {
          lease.signal.throwIfAborted();
          return lease.done(db);
        });
      const { faults, total, fits = true, model = null, sizes } = await inspect(batch, lease, deps);
      await lease.transaction(async (db) => {
        // The call that cancels a batch marks its work in the same transaction.
        lease.signal.throwIfAborted();
        if (faults.length > 0) {
          await failWith(db, batch, faults, deps);
          return lease.done(db);
        }
        const mode = fits ? batch.mode : 'managed';
        const native = mode === 'native' && sizes !== undefined ? nativeWith(batch, { sizes }) : batch.native;
        await table.change(db, batch.id, { ...entered(batch, 'in_progress', now()), total, mode, model, native });
        const work = { tenant: batch.workspace_id, ref: batch.id };
        if (mode === 'native') await workers().enqueue(db, { ...work, kind: NATIVE });
        else for (const lane of lanesFor(total)) await workers().enqueue(db, { ...work, kind: LINES, payload: lane });
        await lease.done(db);
      });
    },
    failed: async (db, work) => {
      const batch = await table.lock(db, work.ref);
      if (batch?.status !== 'validating') return;
      const errors = [{ code: 'server_error', message: 'The input file could not be read.', param: null, line: null }];
      await failWith(db, batch, errors, deps);
    },
    cancelled: async (db, work) => {
      const batch = await table.lock(db, work.ref);
      // Without `stop`, the cancelling transaction is still running, and it does the rest itself.
      if (batch?.stop) await enqueueFinish(db, batch, workers());
    },
  };
}

async function inspect(batch: BatchRow, lease: Lease, deps: BatchDeps) {
  const { files, table, gates, litter } = deps;
  const faults: BatchFault[] = [];
  const seen = new CustomIds();
  let group: BatchLineRow[] = [];
  let total = 0;
  const models = new Set<string | null>();
  const sizes = batch.mode === 'native' ? new Sizes() : null;
  const fitting = new Fitting(nativeApi(nativeOf(batch).provider ?? '')?.demands);
  const faultOfModel = await modelRule(batch, deps);
  const flush = async () => {
    lease.signal.throwIfAborted();
    const lines = group;
    group = [];
    // Read again after a power cut; the transaction that begins with the requests waits for the disk.
    if (faults.length === 0) await lease.transaction((db) => table.insertLines(db, lines), { flush: 'later' });
    // The embedded store answers without giving other requests a turn, so they get one here.
    await (gates.isGivingWay ? sleep(BREATH_MS) : setImmediate());
  };
  const input = await openInput(batch, files);
  if (!input) return { total: 0, faults: [gone(batch)] };
  for await (const { number, position, bytes } of input) {
    if (bytes !== null && isBlank(bytes)) continue;
    if (total === MOST_LINES) return { total, faults: [TOO_MANY] };
    total++;
    const read = readLine(bytes, batch.endpoint);
    litter.add(bytes?.length ?? 0);
    if ('customId' in read) {
      fitting.add(read.body);
      // Two tell as much as many.
      if (models.size < 2) models.add(modelIn(read.body));
      sizes?.add(bytes!, read.body);
    }
    const fault = 'fault' in read ? read.fault : (duplicate(read.customId, seen) ?? faultOfModel?.(bytes!));
    if (fault) faults.push({ ...fault, line: number });
    else
      group.push({
        batch_id: batch.id,
        number: total - 1,
        custom_id: JSON.stringify((read as { customId: string }).customId),
        position,
        bytes: bytes!.length,
      });
    if (faults.length === MOST_FAULTS) return { total, faults };
    if (group.length === LINES_AT_ONCE) await flush();
  }
  await flush();
  const model = models.size === 1 ? [...models][0]! : null;
  return { total, model, fits: fitting.isSo(total), sizes: sizes?.all, faults: total === 0 ? [EMPTY] : faults };
}

/** What a provider carries out as a whole does not pass the relay, which would look at the model of each request. */
async function modelRule(batch: BatchRow, deps: BatchDeps) {
  if (batch.mode !== 'native') return null;
  // A batch whose caller is gone fails at its next step.
  const { models } = (await callerOf(batch, deps).catch(() => null)) ?? {};
  if (!models) return null;
  const place = { provider: nativeOf(batch).provider ?? '', virtualKey: batch.virtual_key };
  return (line: Uint8Array) => {
    const unlisted = unlistedIn(models, new TextDecoder().decode(bodyOf(line)), place);
    if (unlisted === undefined) return null;
    const { code, message } = new GatewayError('model_not_allowed', [unlisted, models.names]);
    return { code, message, param: 'body.model' };
  };
}

const LONGEST_MODEL = 256;

/** A name that PostgreSQL cannot store, or that is too long to be shown, counts as none. */
function modelIn({ model }: Members): string | null {
  const isName = typeof model === 'string' && model !== '' && model.length <= LONGEST_MODEL;
  return isName && model.isWellFormed() && !model.includes('\0') ? model : null;
}

/** Whether one provider could carry the whole batch out. */
class Fitting {
  readonly #demands: Demands;
  #fits = true;
  #model: unknown;

  constructor(demands: Demands = {}) {
    this.#demands = demands;
  }

  add(body: Members) {
    const { fits, hasOneModel } = this.#demands;
    const { model } = body;
    // It chooses a provider by itself.
    if (typeof model === 'string' && model.startsWith('@')) this.#fits = false;
    this.#model ??= model;
    if (hasOneModel && model !== this.#model) this.#fits = false;
    if (fits && !fits(body)) this.#fits = false;
  }

  isSo(total: number): boolean {
    return this.#fits && total >= (this.#demands.leastRequests ?? 0);
  }
}

/** Null: the file was deleted meanwhile. */
async function openInput(batch: BatchRow, files: BatchDeps['files']): Promise<AsyncGenerator<Line> | null> {
  try {
    const file = await files.row(batch.workspace_id as WorkspaceId, batch.input_file_id);
    return linesOf((await files.open(file)) as unknown as AsyncIterable<Uint8Array>, LONGEST_LINE);
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'file_not_found') return null;
    throw error;
  }
}

const isBlank = (bytes: Uint8Array): boolean => bytes.every((byte) => byte === 0x20 || byte === 0x09);

function duplicate(customId: string, seen: CustomIds) {
  if (seen.add(customId)) return null;
  const message = `The custom_id ${JSON.stringify(customId.slice(0, 80))} appears on an earlier line, too.`;
  return { code: 'duplicate_custom_id', message, param: 'custom_id' };
}
