import type { Store } from '../../storage/store.ts';
import type { BuiltIn, BuiltInCall, BuiltInResult, ThreadPlace } from '../runs/built-in.ts';
import { failRun } from '../runs/failures.ts';
import type { RunBody } from '../runs/run.ts';
import { findThread, shownThread } from '../thread.ts';
import { type CellResult, createCells, stateOf } from './cells.ts';
import { BUSY, codeToRun, createExecutor, descriptionOf, type ExecutorDeps, PARAMETERS, unrun } from './execute.ts';
import { namesOf } from './inputs.ts';
import { linkMark } from './links.ts';

export interface InterpreterDeps extends ExecutorDeps {
  readonly store: Store;
  /** Tells the operator that no sandbox can be started, and why. */
  readonly report: (problem: string) => void;
  readonly now: () => number;
}

/** Runs Python that a model writes. */
export function createInterpreter(deps: InterpreterDeps): BuiltIn {
  const { store, files, sandbox, cellSeconds, report, now } = deps;
  const run = createExecutor(deps);
  const cells = createCells({ store, files, now });

  /** Of the assistant first, then of the thread. */
  const fileIdsOf = async (run: RunBody, { workspaceId, threadId }: ThreadPlace): Promise<string[]> => {
    const thread = shownThread(await findThread(store.db, workspaceId, threadId));
    const lists = [run.tool_resources, thread.tool_resources];
    return lists.flatMap((resources) => resources.code_interpreter?.file_ids ?? []);
  };

  const execute = async (call: BuiltInCall, code: string): Promise<CellResult> => {
    const { workspaceId, threadId, signal } = call;
    const written = await cells.of(threadId);
    const fileIds = await fileIdsOf(call.run, call);
    const id = `${call.runId}/${call.ordinal}`;
    return run({ id, workspaceId, threadId, written, fileIds, code, signal }, (...cell) => cells.add(call, ...cell));
  };

  const answered = (
    call: BuiltInCall,
    input: string,
    { outputs, output }: Omit<CellResult, 'files'>,
  ): BuiltInResult => ({
    shown: { id: call.id, type: 'code_interpreter', code_interpreter: { input, outputs: [...outputs] } },
    output,
  });
  const refused = (call: BuiltInCall, input: string, why: string) =>
    answered(call, input, { outputs: [{ type: 'logs', logs: why }], output: why });

  return {
    offer: async (_tool, run, place) => {
      const mounted = stateOf(await cells.of(place.threadId)).flatMap(({ inputs }) => inputs);
      const reading = { workspaceId: place.workspaceId, files };
      const inputs = await namesOf(await fileIdsOf(run, place), mounted, reading);
      return { description: descriptionOf(inputs, cellSeconds, await sandbox.about()), parameters: PARAMETERS };
    },

    marks: async ({ threadId }) => {
      const mark = linkMark(await cells.of(threadId));
      return mark ? [mark] : [];
    },

    async carryOut(call) {
      const done = await cells.find(call);
      if (done) return answered(call, done.code, done.result);
      const { code, refusal } = codeToRun(call.arguments);
      if (refusal) return refused(call, code, refusal);
      try {
        return answered(call, code, await execute(call, code));
      } catch (error) {
        if (unrun(error, call.signal, report) === 'busy') return refused(call, code, BUSY);
        return failRun('server_error', 'The code interpreter of this gateway does not start.');
      }
    },
  };
}
