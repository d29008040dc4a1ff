import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BEGINNING } from '../../src/assistants/runs/events.ts';
import { GatewayError } from '../../src/core/errors.ts';
import type { RunRow } from '../../src/storage/schema.ts';
import { openPostgres, openSqlite, type Store } from '../../src/storage/store.ts';
import { defaultTiming, type Timing } from '../../src/work/work.ts';
import { createEngine, type Engine, principal, workspaceId } from '../assistants/engine.ts';
import { checkGrammar, type StreamEvent } from '../assistants/grammar.ts';
import { type ChatRequest, type ScriptedAnswer, startScriptedProvider } from '../assistants/scripted-provider.ts';
import { seeded } from '../fuzz.ts';
import { createDatabase } from '../postgres.ts';
import { Crew } from './crew.ts';
import type { RunWorkerOrder } from './run-worker.ts';

export interface RunChaosOptions {
  readonly engine: 'sqlite' | 'postgres';
  readonly runs: number;
  readonly processes: number;
  readonly timing?: Timing;
  readonly kills: number;
  readonly freezes: number;
  /** Between two of them. */
  readonly everyMs: number;
  readonly limitMs: number;
  readonly report?: (line: string) => void;
}

export interface RunChaosResult {
  readonly completed: number;
  /** Runs whose call was interrupted twice: the only other end there may be. */
  readonly interrupted: number;
  /** What is otherwise than one clean execution would have left it. */
  readonly faults: string[];
  /** Calls of the model beyond those of a clean execution, and how many the gateway says there may have been. */
  readonly extraCalls: number;
  readonly repeatedCalls: number;
  /** Extra calls of a run that the run does not know of. */
  readonly uncounted: string[];
}

const INTERRUPTED = 'The gateway was interrupted twice while it called the model.';
const LOOK_MS = 50;

/** What the model says to a thread: text and a call, a call, text. Each word is the thread's own. */
function scriptOf(request: ChatRequest): ScriptedAnswer {
  const name: string = request.messages[0].content;
  const round = request.messages.filter(({ tool_calls }) => tool_calls).length;
  const pace = { chunkDelayMs: 30 };
  const call = { call: 'get_time', arguments: `{"of":"${name}","round":${round}}`, id: `call_${round}` };
  if (round === 0) return { parts: [{ text: `${name} let me look that up for you` }, call], ...pace };
  if (round === 1) return { parts: [call], ...pace };
  return { parts: [{ text: `${name} it is noon wherever you may be just now` }], ...pace };
}

/** Carries runs out while processes are killed and frozen at random, and tells what came of it. */
export async function runChaos(options: RunChaosOptions): Promise<RunChaosResult> {
  const { engine: kind, timing = defaultTiming, report } = options;
  const seed = Date.now() % 100_000;
  report?.(`seed ${seed}`);
  const home = mkdtempSync(join(tmpdir(), 'gateway-runs-'));
  const place: RunWorkerOrder['place'] =
    kind === 'postgres' ? { postgres: await createDatabase() } : { sqlite: join(home, 'state.db') };
  const store = 'postgres' in place ? await openPostgres(place.postgres) : openSqlite(place.sqlite);
  await store.migrate();
  const provider = startScriptedProvider(scriptOf);
  const front = createEngine({
    store,
    databaseUrl: 'postgres' in place ? place.postgres : null,
    callModel: () => Promise.reject(new Error('the front carries nothing out')),
    name: 'front',
  });
  const crew = new Crew(join(import.meta.dir, 'run-worker.ts'), { place, timing, provider: provider.url });
  try {
    for (let number = 0; number < options.processes; number++) await crew.add();
    const runs = await begin(front, options.runs);
    await endure(options, { store, front, crew, random: seeded(seed), runs: runs.length });
    await crew.stop();
    return await findings(store, front, provider.requests);
  } finally {
    await crew.abandon();
    provider.stop();
    await store.close();
    rmSync(home, { recursive: true, force: true });
  }
}

async function begin({ assistants, threads, runs }: Engine, count: number): Promise<string[]> {
  const tool = { type: 'function' as const, function: { name: 'get_time' } };
  const { id: assistant_id } = await assistants.create(workspaceId, { model: 'm', tools: [tool], metadata: {} });
  const caller = { principal, headers: {} };
  const ids: string[] = [];
  for (let number = 0; number < count; number++) {
    const message = { role: 'user' as const, content: `thread${number}`, metadata: {} };
    const thread = await persistently(() =>
      threads.create({ workspaceId, userId: null }, { messages: [message], metadata: {} }),
    );
    ids.push((await persistently(() => runs.create(caller, thread.id, { assistant_id, metadata: {} }))).run.id);
  }
  return ids;
}

interface Scene {
  readonly store: Store;
  readonly front: Engine;
  readonly crew: Crew<Omit<RunWorkerOrder, 'name'>>;
  readonly random: ReturnType<typeof seeded>;
  readonly runs: number;
}

/** Answers what runs ask for and does harm, until all of them have ended. */
async function endure(options: RunChaosOptions, { store, front, crew, random, runs }: Scene): Promise<void> {
  const { everyMs, limitMs, processes, timing = defaultTiming, report } = options;
  let { kills, freezes } = options;
  const deadline = performance.now() + limitMs;
  let nextAt = performance.now() + everyMs / 2;
  for (;;) {
    const open = await persistently(() =>
      store.db.selectFrom('runs').selectAll().where('ended_at', 'is', null).execute(),
    );
    if (open.length === 0) return;
    if (performance.now() > deadline)
      throw new Error(`${open.length} of ${runs} runs have not ended: ${open.map(({ status }) => status)}`);
    for (const run of open) if (run.status === 'requires_action' && !(await answer(front, run))) break;
    await Bun.sleep(LOOK_MS);
    if (performance.now() < nextAt || kills + freezes === 0 || crew.awake.length < Math.min(2, processes)) continue;
    if (await isRepeating(store)) continue;
    nextAt = performance.now() + everyMs * (0.5 + random.next());
    const isKill = random.below(kills + freezes) < kills;
    const victim = random.pick(crew.awake);
    report?.(`${isKill ? 'kill' : 'freeze'} ${victim.name}, ${open.length} open`);
    if (isKill) {
      await crew.kill(victim);
      void crew.add();
      kills--;
    } else {
      crew.freeze(victim, timing.leaseMs * 1.3 + timing.sweepMs * 2 + random.below(timing.leaseMs));
      freezes--;
    }
  }
}

/** A call that is interrupted a second time ends its run, and then there is nothing to compare. */
async function isRepeating({ db }: Store): Promise<boolean> {
  const calls = db.selectFrom('run_calls').select('run_id').where('state', '=', 'started').where('attempt', '>', 1);
  return (await persistently(() => calls.executeTakeFirst())) !== undefined;
}

/**
 * False: a frozen process holds the only write lock of the embedded store. Waiting for it holds up this whole process, the
 * clock that thaws the other one included, so nothing else is tried before the next look.
 */
async function answer({ runs }: Engine, run: RunRow): Promise<boolean> {
  const { tool_calls } = JSON.parse(run.required_action!).submit_tool_outputs as { tool_calls: { id: string }[] };
  const outputs = tool_calls.map(({ id }) => ({ tool_call_id: id, output: `noon for ${id}` }));
  try {
    await runs.submit(workspaceId, run.thread_id, run.id, outputs);
    return true;
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'store_unavailable') throw error;
    return false;
  }
}

async function persistently<Result>(work: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== 'store_unavailable') throw error;
      await Bun.sleep(LOOK_MS);
    }
  }
}

async function findings(store: Store, front: Engine, requests: readonly ChatRequest[]): Promise<RunChaosResult> {
  const faults: string[] = [];
  const uncounted: string[] = [];
  let completed = 0;
  let interrupted = 0;
  let extraCalls = 0;
  let repeatedCalls = 0;
  for (const run of await store.db.selectFrom('runs').selectAll().orderBy('id').execute()) {
    const messages = await historyIn(store, run.thread_id);
    const name = messages[0]!.replace('user completed: ', '');
    const isWhole = run.status === 'completed';
    const isInterrupted = run.status === 'failed' && JSON.parse(run.last_error!).message === INTERRUPTED;
    if (isWhole) completed++;
    else if (isInterrupted) interrupted++;
    else faults.push(`${name} is ${run.status}: ${run.last_error}`);
    if (isWhole)
      faults.push(...differences(name, [...messages, ...(await stepsIn(store, run.id))], cleanHistory(name)));
    const asked = requests.filter((request) => request.messages[0].content === name).map(scriptRound);
    const extra = asked.length - new Set(asked).size;
    extraCalls += extra;
    repeatedCalls += run.repeated_calls;
    if (extra > run.repeated_calls) uncounted.push(`${name}: ${extra} extra calls, ${run.repeated_calls} counted`);
    faults.push(...(await streamFaults(front, run)));
  }
  return { completed, interrupted, faults, extraCalls, repeatedCalls, uncounted };
}

const scriptRound = ({ messages }: ChatRequest) => messages.filter(({ tool_calls }) => tool_calls).length;

const cleanHistory = (name: string): string[] => [
  `user completed: ${name}`,
  `assistant completed: ${name} let me look that up for you`,
  `assistant completed: ${name} it is noon wherever you may be just now`,
  'message_creation completed',
  `tool_calls completed {"of":"${name}","round":0} = noon for call_0`,
  `tool_calls completed {"of":"${name}","round":1} = noon for call_1`,
  'message_creation completed',
];

const differences = (name: string, found: readonly string[], clean: readonly string[]): string[] =>
  JSON.stringify(found) === JSON.stringify(clean) ? [] : [`${name} has ${JSON.stringify(found)}`];

async function historyIn(store: Store, threadId: string): Promise<string[]> {
  const rows = await store.db
    .selectFrom('messages')
    .selectAll()
    .where('thread_id', '=', threadId)
    .orderBy('id')
    .execute();
  return rows.map(
    ({ role, status, content }) =>
      `${role} ${status}: ${(JSON.parse(content) as { text: { value: string } }[]).map(({ text }) => text.value).join('')}`,
  );
}

async function stepsIn(store: Store, runId: string): Promise<string[]> {
  const rows = await store.db.selectFrom('run_steps').selectAll().where('run_id', '=', runId).orderBy('id').execute();
  return rows.map(({ status, details }) => {
    const { type, tool_calls = [] } = JSON.parse(details) as {
      type: string;
      tool_calls?: { function: { arguments: string; output: string } }[];
    };
    const calls = tool_calls.map((call) => ` ${call.function.arguments} = ${call.function.output}`);
    return `${type} ${status}${calls.join('')}`;
  });
}

/** A client that watches the run from its beginning now sees streams that obey the grammar. */
async function streamFaults(front: Engine, { id }: RunRow): Promise<string[]> {
  const stretches: StreamEvent[][] = [[]];
  for await (const shown of front.runs.watch({ runId: id, from: BEGINNING, endsAtAction: false }).follow()) {
    if (!shown) continue;
    stretches.at(-1)!.push({ event: shown.name, data: JSON.parse(shown.data) });
    if (shown.name === 'thread.run.requires_action') stretches.push([]);
  }
  try {
    for (const [index, events] of stretches.entries()) checkGrammar(events, index === 0 ? 'create' : 'submit');
    return [];
  } catch (error) {
    return [`stream of ${id}: ${(error as Error).message}`];
  }
}
