import type { FileObject } from '../../files/file.ts';
import type { Files } from '../../files/files.ts';
import type { Store } from '../../storage/store.ts';
import type { BuiltIn, BuiltInCall, BuiltInResult, ThreadPlace } from '../runs/built-in.ts';
import { failRun } from '../runs/failures.ts';
import type { RunBody } from '../runs/run.ts';
import { findThread, shownThread } from '../thread.ts';
import { type CellResult, createCells, type KeptContent, stateOf, type WrittenCell } from './cells.ts';
import { codeIn } from './code-argument.ts';
import { cellFile, namesOf, newInputs } from './inputs.ts';
import { CODE_BYTES } from './limits.ts';
import { LINK, linkMark } from './links.ts';
import { NoPlace } from './places.ts';
import { type Job, NoSandbox, type Outcome, type Sandbox } from './sandbox.ts';
import type { Made } from './session.ts';

export interface InterpreterDeps {
  readonly store: Store;
  readonly files: Files;
  readonly sandbox: Sandbox;
  readonly cellSeconds: number;
  readonly memoryMb: number;
  /** Tells the operator that no sandbox can be started, and why. */
  readonly report: (problem: string) => void;
  readonly now: () => number;
}

const PARAMETERS = {
  type: 'object',
  properties: { code: { type: 'string', description: 'Python code, as in a cell of a notebook.' } },
  required: ['code'],
  additionalProperties: false,
} as const;

const WRONG_ARGUMENTS = 'The code was not run: give a JSON object with the code as text, {"code": "…"}.';
const BUSY = 'The code was not run: all sandboxes of this gateway are busy. Try again.';
const STATE_LOST =
  'What cells before this one had defined and written could not be brought back: this one began with the input files alone.';

/** Runs Python that a model writes. */
export function createInterpreter(deps: InterpreterDeps): BuiltIn {
  const { store, files, sandbox, cellSeconds, memoryMb, report, now } = deps;
  const cells = createCells({ store, files, now });

  /** Of the assistant first, then of the thread. */
  const fileIdsOf = async (run: RunBody, { workspaceId, threadId }: ThreadPlace): Promise<string[]> => {
    const thread = shownThread(await findThread(store.db, workspaceId, threadId));
    const lists = [run.tool_resources, thread.tool_resources];
    return lists.flatMap((resources) => resources.code_interpreter?.file_ids ?? []);
  };

  const execute = async (call: BuiltInCall, code: string): Promise<CellResult> => {
    const { workspaceId, threadId, signal } = call;
    const reading = { workspaceId, files };
    const past = stateOf(await cells.of(threadId));
    const mounted = past.flatMap(({ inputs }) => inputs);
    const { added, notes } = await newInputs(await fileIdsOf(call.run, call), mounted, reading);
    const cellOf = ({ id, code: text, inputs }: Pick<WrittenCell, 'id' | 'code' | 'inputs'>) => ({
      id,
      code: text,
      files: inputs.map((input) => cellFile(input, workspaceId, files)),
    });
    const kept = new KeptOutputs(files);
    const job: Job = {
      workspaceId,
      threadId,
      past: past.map(cellOf),
      cell: cellOf({ id: `${call.runId}/${call.ordinal}`, code, inputs: added }),
      keep: (made, content) => kept.keep(made, content),
      signal,
    };
    const outcome = await sandbox.run(job).catch(async (error) => {
      await kept.discard();
      throw error;
    });
    if (outcome.stopped) await kept.discard();
    const cell = {
      code,
      inputs: outcome.isStateLost ? [...mounted, ...added] : added,
      leavesState: outcome.stopped === null,
      beginsAnew: outcome.isStateLost,
    };
    const said = [...notes, ...(outcome.isStateLost ? [STATE_LOST] : []), ...stoppedText(outcome), ...kept.notes];
    return cells.add(call, cell, kept.all, (objects) => resultOf(outcome.logs, said, kept, objects));
  };

  const stoppedText = ({ stopped }: Outcome): string[] => {
    const after = 'Nothing of what it did is left; what was there before it is.';
    if (stopped === 'time') return [`The code was stopped: it ran for more than ${cellSeconds} seconds. ${after}`];
    const most = `${memoryMb} MB of memory`;
    return stopped ? [`The code was stopped: its sandbox broke, probably for want of more than ${most}. ${after}`] : [];
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
      return { description: descriptionOf(inputs, cellSeconds), parameters: PARAMETERS };
    },

    marks: async ({ threadId }) => {
      const mark = linkMark(await cells.of(threadId));
      return mark ? [mark] : [];
    },

    async carryOut(call) {
      const done = await cells.find(call);
      if (done) return answered(call, done.code, done.result);
      const code = codeIn(call.arguments);
      if (code === null) return refused(call, call.arguments, WRONG_ARGUMENTS);
      if (Buffer.byteLength(code) > CODE_BYTES)
        return refused(call, code, `The code was not run: it has more than ${CODE_BYTES} bytes.`);
      try {
        return answered(call, code, await execute(call, code));
      } catch (error) {
        call.signal.throwIfAborted();
        if (error instanceof NoPlace) return refused(call, code, BUSY);
        if (!(error instanceof NoSandbox)) throw error;
        report(error.message);
        return failRun('server_error', 'The code interpreter of this gateway does not start.');
      }
    },
  };
}

function descriptionOf(inputs: readonly { readonly name: string; readonly bytes: number }[], seconds: number): string {
  const files = inputs.map(({ name, bytes }) => `/mnt/data/${name} (${bytes} bytes)`);
  return [
    'Runs Python in a sandbox and answers what it printed and the value of its last line. Variables stay from call to call.',
    `There is no network, and a call may take ${seconds} seconds.`,
    'The working folder is /mnt/data: what is written there can be downloaded.',
    `To give somebody such a file, link to it like this: [name](${LINK}name).`,
    'Plots are shown when the code ends; display(value) shows other images.',
    files.length > 0 ? `These files are there: ${files.join(', ')}.` : 'No files are there yet.',
  ].join(' ');
}

/** What a cell has made, as it comes. */
class KeptOutputs {
  readonly #files: Files;
  readonly #kept: (KeptContent & { readonly made: Made })[] = [];
  readonly notes: string[] = [];

  constructor(files: Files) {
    this.#files = files;
  }

  get all(): readonly (KeptContent & { readonly made: Made })[] {
    return this.#kept;
  }

  async keep(made: Made, content: AsyncIterable<Uint8Array>): Promise<void> {
    if (made.type === 'file' && !isPath(made.path)) {
      for await (const _ of content);
      this.notes.push('A file was not handed out, because its name cannot be used.');
      return;
    }
    const images = this.#kept.filter((each) => each.made.type === 'image').length;
    const filename = made.type === 'image' ? `image-${images + 1}.png` : made.path.split('/').at(-1)!;
    this.#kept.push({ made, filename, segment: await this.#files.keep(content) });
  }

  async discard(): Promise<void> {
    for (const { segment } of this.#kept.splice(0)) await this.#files.discard(segment);
  }
}

const LONGEST_PATH = 500;

/** Below the working folder, and to be named in a link. */
const isPath = (path: string): boolean =>
  path.length <= LONGEST_PATH &&
  path.isWellFormed() &&
  !/[\x00-\x1f\x7f]/.test(path) &&
  path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');

function resultOf(
  logs: string,
  notes: readonly string[],
  kept: KeptOutputs,
  objects: readonly FileObject[],
): CellResult {
  const made = kept.all.map(({ made }, index) => ({ made, file_id: objects[index]!.id }));
  const images = made.filter((each) => each.made.type === 'image');
  const files = made.flatMap((each) =>
    each.made.type === 'file' ? [{ path: each.made.path, file_id: each.file_id }] : [],
  );
  const text = [logs.trimEnd(), ...notes.map((note) => `[sandbox] ${note}`)].filter(Boolean).join('\n');
  const told = [
    text,
    ...images.map(({ file_id }) => `[image shown: ${file_id}]`),
    ...files.map(({ path }) => `[file written: ${LINK}${path}]`),
  ].filter(Boolean);
  return {
    outputs: [
      ...(text === '' ? [] : [{ type: 'logs' as const, logs: text }]),
      ...images.map(({ file_id }) => ({ type: 'image' as const, image: { file_id } })),
    ],
    output: told.join('\n') || '(The code ran and printed nothing.)',
    files,
  };
}
