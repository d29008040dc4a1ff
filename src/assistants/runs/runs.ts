import { rememberCaller } from '../../auth/work-callers.ts';
import { fail } from '../../core/errors.ts';
import type { WorkspaceId } from '../../core/ids.ts';
import { type List, type ListQuery, listPage } from '../../core/list.ts';
import { changedMetadata } from '../../core/metadata-rule.ts';
import { newObjectId } from '../../core/object-ids.ts';
import type { Principal } from '../../core/principal.ts';
import type { Checked } from '../../core/schema.ts';
import type { Proofs } from '../../guardrails/proof.ts';
import type { WorkProofs } from '../../relay/work-proofs.ts';
import { withinBounds } from '../../storage/keyset.ts';
import type { RunRow, RunStepRow } from '../../storage/schema.ts';
import type { Db, Store } from '../../storage/store.ts';
import type { Workers } from '../../work/workers.ts';
import type { Assistants, CheckTools } from '../assistants.ts';
import type { Messages } from '../messages.ts';
import { findThread, lockThread, shownThread } from '../thread.ts';
import type { Threads } from '../threads.ts';
import type { RunBus } from './bus.ts';
import { usageOfStep } from './calls.ts';
import { cancelling, endRun } from './ending.ts';
import { BEGINNING, type Place, type Tell } from './events.ts';
import { type RunInput, settledBody, type ThreadAndRunInput, type ToolOutputs, type updateRun } from './input.ts';
import { record } from './journal.ts';
import { changeRun, findRun, openStepOf, putStep, refuseSecondRun, runById } from './rows.ts';
import { isActive, type RequiredAction, type RunBody, shownRun } from './run.ts';
import { detailsOf, exchangesOf, type ShowOptions, type Step, shownStep } from './step.ts';
import { type AddSpan, runSpan } from './tracing.ts';
import { Watch, type WatchOptions } from './watch.ts';

/** The name of the work that a run is. */
export const RUN = 'run';

export interface RunsDeps {
  readonly store: Store;
  readonly bus: RunBus;
  readonly workers: () => Workers;
  readonly assistants: Assistants;
  readonly threads: Threads;
  readonly messages: Messages;
  readonly check: CheckTools;
  readonly proofs: Pick<WorkProofs, 'seal'>;
  /** How long a run may take, from its creation to its end. */
  readonly livesMs: number;
  readonly now: () => number;
  /** Null: nothing is traced. */
  readonly addSpan: AddSpan | null;
}

/** Who asks for a run, and what its model calls say in their headers. */
export interface RunCaller {
  readonly principal: Principal;
  readonly headers: Readonly<Record<string, string>>;
  /** What the request has proven to guardrails; nothing, unless it says so. */
  readonly proofs?: Proofs;
}

/** A run after something was asked of it, and the place behind which what came of it begins. */
export interface Watchable {
  readonly run: RunRow;
  readonly from: Place;
}

export function createRuns(deps: RunsDeps) {
  const { store, bus, workers, assistants, threads, messages, check, proofs, livesMs, now } = deps;

  const newRun = (caller: RunCaller, input: { assistant_id: string; metadata: object }, body: RunBody): RunRow => {
    const at = now();
    const { principal } = caller;
    const id = newObjectId('run', at);
    return {
      id,
      workspace_id: principal.workspaceId,
      user_id: principal.userId,
      thread_id: '',
      assistant_id: input.assistant_id,
      api_key_id: principal.keyId,
      headers: JSON.stringify(caller.headers),
      proofs: proofs.seal(id, caller.proofs),
      status: 'queued',
      body: JSON.stringify(body),
      metadata: JSON.stringify(input.metadata),
      required_action: null,
      last_error: null,
      incomplete_reason: null,
      prompt_tokens: 0,
      completion_tokens: 0,
      repeated_calls: 0,
      epoch: 0,
      created_at: at,
      expires_at: at + livesMs,
      started_at: null,
      cancelled_at: null,
      failed_at: null,
      completed_at: null,
      ended_at: null,
      keeps_events: 1,
    };
  };

  /** Run and work in one transaction, so that there is never the one without the other. */
  const accepted = async (
    who: Principal,
    run: RunRow,
    place: (db: Db, tell: Tell) => Promise<string>,
  ): Promise<Watchable> => {
    const item = { kind: RUN, tenant: run.workspace_id, ref: run.id };
    const { result } = await workers().accept(item, async (db) => {
      await rememberCaller(db, who, now());
      const before: [string, object][] = [];
      const threadId = await place(db, (name, data) => before.push([name, data]));
      const row = { ...run, thread_id: threadId };
      await insertAlone(db, row);
      return record(db, run.id, bus, async (tell) => {
        for (const [name, data] of before) tell(name, data);
        tell('thread.run.created', shownRun(row));
        tell('thread.run.queued', shownRun(row));
        return row;
      });
    });
    return { run: result, from: BEGINNING };
  };

  /** Ends a run whose time is over, whichever node has it, unless it has ended by itself and its work with it. */
  const expire = async (db: Db, id: string): Promise<void> => {
    await workers().discard(db, { kind: RUN, ref: id });
    const run = await runById(db, id);
    if (!run || !isActive(run)) return;
    const ended = await record(db, id, bus, (tell) => endRun(db, run, { status: 'expired' }, { tell, now: now() }));
    const span = deps.addSpan && runSpan(ended);
    if (span) deps.addSpan?.(span);
  };

  return {
    async create(caller: RunCaller, threadId: string, input: RunInput): Promise<Watchable> {
      const { workspaceId, userId } = caller.principal;
      const body = await settled(workspaceId, input, () => findThread(store.db, workspaceId, threadId));
      return accepted(caller.principal, newRun(caller, input, body), async (db) => {
        await lockThread(store, db, workspaceId, threadId);
        await refuseSecondRun(db, threadId);
        const place = { workspaceId, threadId, userId, proofs: caller.proofs };
        await messages.insert(db, place, input.additional_messages ?? []);
        return threadId;
      });
    },

    async createWithThread(caller: RunCaller, input: ThreadAndRunInput): Promise<Watchable> {
      const { workspaceId } = caller.principal;
      const thread = input.thread ?? { metadata: {} };
      const body = await settled(workspaceId, input, () => check(store.db, workspaceId, thread));
      return accepted(caller.principal, newRun(caller, input, body), async (db, tell) => {
        const { workspaceId, userId } = caller.principal;
        const row = await threads.insert(db, { workspaceId, userId, proofs: caller.proofs }, thread);
        tell('thread.created', shownThread(row));
        return row.id;
      });
    },

    read: (workspaceId: WorkspaceId, threadId: string, id: string): Promise<RunRow> =>
      findRun(store.db, workspaceId, threadId, id),

    async list(
      workspaceId: WorkspaceId,
      threadId: string,
      query: ListQuery,
    ): Promise<List<ReturnType<typeof shownRun>>> {
      await threads.read(workspaceId, threadId);
      const all = () => store.db.selectFrom('runs').selectAll().where('thread_id', '=', threadId);
      const page = await listPage(query, 'run', {
        has: async (id) => (await all().where('id', '=', id).executeTakeFirst()) !== undefined,
        between: (bounds) => withinBounds(all(), bounds).execute(),
      });
      return { ...page, data: page.data.map(shownRun) };
    },

    update(workspaceId: WorkspaceId, threadId: string, id: string, input: Checked<typeof updateRun>): Promise<RunRow> {
      return store.transaction(async (db) => {
        const run = await findRun(db, workspaceId, threadId, id);
        const metadata = JSON.stringify(changedMetadata(JSON.parse(run.metadata), input.metadata));
        const changed = db.updateTable('runs').set({ metadata }).where('id', '=', id).returningAll();
        // Its thread may have been deleted a moment ago.
        return (await changed.executeTakeFirst()) ?? fail('object_not_found', 'run', id);
      });
    },

    /** The answer shows what was asked for, `cancelling`, although a run that no node carries out has ended with it. */
    async cancel(workspaceId: WorkspaceId, threadId: string, id: string): Promise<RunRow> {
      await findRun(store.db, workspaceId, threadId, id);
      return store.transaction(async (db) => {
        const { ended, asked } = await workers().cancel(db, { kind: RUN, ref: id });
        const run = await findRun(db, workspaceId, threadId, id);
        if (ended > 0) return { ...run, ...cancelling, cancelled_at: null };
        if (asked === 0 || run.status === 'cancelling') fail('run_not_cancellable', run.status);
        return changeRun(db, run, cancelling);
      });
    },

    /** What the caller that gives the outputs has proven takes the place of what was proven before. */
    async submit(
      workspaceId: WorkspaceId,
      threadId: string,
      id: string,
      outputs: ToolOutputs,
      proven?: Proofs,
    ): Promise<Watchable> {
      const known = await findRun(store.db, workspaceId, threadId, id);
      if (isActive(known) && known.expires_at <= now()) await store.transaction((db) => expire(db, id));
      const { result } = await workers().resume({ kind: RUN, ref: id }, async (db) => {
        const run = await findRun(db, workspaceId, threadId, id);
        if (run.status !== 'requires_action') fail('run_takes_no_outputs', run.status);
        const given = outputsFor(run, outputs);
        return record(db, id, bus, async (tell) => {
          await completeCalls(db, run, given, { tell, now: now() });
          const change = { status: 'queued', required_action: null, proofs: proofs.seal(id, proven) };
          const queued = await changeRun(db, run, change);
          tell('thread.run.queued', shownRun(queued));
          return { run: queued, from: { epoch: run.epoch, seq: Number.MAX_SAFE_INTEGER } };
        });
      });
      return result;
    },

    async listSteps(
      workspaceId: WorkspaceId,
      threadId: string,
      runId: string,
      { query, ...options }: ShowOptions & { readonly query: ListQuery },
    ): Promise<List<Step>> {
      const run = await findRun(store.db, workspaceId, threadId, runId);
      const all = () => store.db.selectFrom('run_steps').selectAll().where('run_id', '=', runId);
      const page = await listPage(query, 'step', {
        has: async (id) => (await all().where('id', '=', id).executeTakeFirst()) !== undefined,
        between: (bounds) => withinBounds(all(), bounds).execute(),
      });
      return { ...page, data: page.data.map((row) => shownStep(row, run, options)) };
    },

    async readStep(
      workspaceId: WorkspaceId,
      threadId: string,
      { runId, stepId }: { runId: string; stepId: string },
      options: ShowOptions,
    ): Promise<Step> {
      const run = await findRun(store.db, workspaceId, threadId, runId);
      const step = await store.db
        .selectFrom('run_steps')
        .selectAll()
        .where('run_id', '=', runId)
        .where('id', '=', stepId)
        .executeTakeFirst();
      return shownStep(step ?? fail('object_not_found', 'run step', stepId), run, options);
    },

    /** The run's events behind a place. Ends with the request's own stretch, or with all there is. */
    watch: (options: WatchOptions): Watch => new Watch(options, { store, bus }),

    expire,
  };

  async function settled(
    workspaceId: WorkspaceId,
    input: Parameters<typeof settledBody>[0] & { assistant_id: string },
    checkFirst: () => Promise<unknown>,
  ): Promise<RunBody> {
    await checkFirst();
    const assistant = await assistants.find(store.db, workspaceId, input.assistant_id);
    const body = settledBody(input, assistant);
    // What the assistant brings was checked when it was given to it, and may be gone since.
    await check(store.db, workspaceId, { tools: body.tools, tool_resources: input.tool_resources });
    return body;
  }
}

export type Runs = ReturnType<typeof createRuns>;

/**
 * The index on active runs lets one in. The run that is in the way may end before it can be named: then it is tried
 * again.
 */
async function insertAlone(db: Db, run: RunRow): Promise<void> {
  for (;;) {
    const inserted = await db
      .insertInto('runs')
      .values(run)
      .onConflict((conflict) => conflict.doNothing())
      .returning('id')
      .executeTakeFirst();
    if (inserted) return;
    await refuseSecondRun(db, run.thread_id);
  }
}

/** The outputs by call, when they are those of exactly the calls the run waits for. */
function outputsFor(run: RunRow, given: ToolOutputs): Map<string, string> {
  const action = JSON.parse(run.required_action!) as RequiredAction;
  const expected = action.submit_tool_outputs.tool_calls.map(({ id }) => id);
  const got = given.map(({ tool_call_id }) => tool_call_id ?? '');
  const isSame = got.length === expected.length && new Set(got).size === got.length;
  if (!isSame || got.some((id) => !expected.includes(id)))
    fail('tool_outputs_mismatch', listText(expected), listText(got));
  return new Map(given.map(({ tool_call_id, output }) => [tool_call_id!, output ?? '']));
}

const listText = (ids: readonly string[]): string => `[${ids.map((id) => `'${id.slice(0, 80)}'`).join(', ')}]`;

async function completeCalls(
  db: Db,
  run: RunRow,
  outputs: ReadonlyMap<string, string>,
  { tell, now }: { tell: Tell; now: number },
): Promise<void> {
  const step = (await openStepOf(db, run.id))!;
  const details = detailsOf(step);
  if (details.type !== 'tool_calls') throw new Error(`Run ${run.id} waits for outputs of no tool calls.`);
  const calls = details.tool_calls.map((call) => {
    if (call.type !== 'function') return call;
    return { ...call, function: { ...call.function, output: outputs.get(call.id) ?? call.function.output } };
  });
  const exchanges = exchangesOf(step).map((each) => ({ ...each, output: outputs.get(each.id) ?? each.output }));
  const row: RunStepRow = {
    ...step,
    status: 'completed',
    completed_at: now,
    details: JSON.stringify({ ...details, tool_calls: calls }),
    exchange: JSON.stringify(exchanges),
    usage: JSON.stringify(await usageOfStep(db, step)),
  };
  tell('thread.run.step.completed', shownStep(await putStep(db, row), run));
}
