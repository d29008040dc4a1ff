import type { WorkspaceId } from '../../core/ids.ts';
import type { FileObject } from '../../files/file.ts';
import type { Files } from '../../files/files.ts';
import { type CellResult, type KeptContent, stateOf, type WrittenCell } from './cells.ts';
import { codeIn } from './code-argument.ts';
import { cellFile, newInputs } from './inputs.ts';
import type { PythonAbout } from './jail.ts';
import { CODE_BYTES } from './limits.ts';
import { LINK } from './links.ts';
import { NoPlace } from './places.ts';
import { type Job, NoSandbox, type Outcome, type Sandbox } from './sandbox.ts';
import type { Made } from './session.ts';

export interface ExecutorDeps {
  readonly files: Files;
  readonly sandbox: Sandbox;
  readonly cellSeconds: number;
  readonly memoryMb: number;
}

/** Code that is to run in the state that other code has left. */
export interface NextCell {
  readonly id: string;
  readonly workspaceId: WorkspaceId;
  /** Whose state it is: a thread, or a container. */
  readonly threadId: string;
  readonly written: readonly WrittenCell[];
  readonly fileIds: readonly string[];
  readonly code: string;
  readonly signal: AbortSignal;
}

/** Writes down what has run, with what it made. */
export type WriteCell = (
  cell: Pick<WrittenCell, 'code' | 'inputs' | 'leavesState' | 'beginsAnew'>,
  made: readonly KeptContent[],
  resultOf: (files: readonly FileObject[]) => CellResult,
) => Promise<CellResult>;

export const PARAMETERS = {
  type: 'object',
  properties: { code: { type: 'string', description: 'Python code, as in a cell of a notebook.' } },
  required: ['code'],
  additionalProperties: false,
} as const;

const WRONG_ARGUMENTS = 'The code was not run: give a JSON object with the code as text, {"code": "…"}.';
export const BUSY = 'The code was not run: all sandboxes of this gateway are busy. Try again.';
const STATE_LOST =
  'What cells before this one had defined and written could not be brought back: this one began with the input files alone.';

/** Why a call runs nothing; the code that it gives otherwise. */
export function codeToRun(text: string): { readonly code: string; readonly refusal: string | null } {
  const code = codeIn(text);
  if (code === null) return { code: text, refusal: WRONG_ARGUMENTS };
  const isTooLong = Buffer.byteLength(code) > CODE_BYTES;
  return { code, refusal: isTooLong ? `The code was not run: it has more than ${CODE_BYTES} bytes.` : null };
}

/** What the model is told of code that no sandbox could take; everything else is thrown on. */
export function unrun(error: unknown, signal: AbortSignal, report: (problem: string) => void): 'busy' | 'broken' {
  signal.throwIfAborted();
  if (error instanceof NoPlace) return 'busy';
  if (!(error instanceof NoSandbox)) throw error;
  report(error.message);
  return 'broken';
}

/** Runs one piece of code after those that ran before it. */
export function createExecutor({ files, sandbox, cellSeconds, memoryMb }: ExecutorDeps) {
  const stoppedText = ({ stopped }: Outcome): string[] => {
    const after = 'Nothing of what it did is left; what was there before it is.';
    if (stopped === 'time') return [`The code was stopped: it ran for more than ${cellSeconds} seconds. ${after}`];
    const most = `${memoryMb} MB of memory`;
    return stopped ? [`The code was stopped: its sandbox broke, probably for want of more than ${most}. ${after}`] : [];
  };

  return async (next: NextCell, write: WriteCell): Promise<CellResult> => {
    const { workspaceId, threadId, code, signal } = next;
    const past = stateOf(next.written);
    const mounted = past.flatMap(({ inputs }) => inputs);
    const { added, notes } = await newInputs(next.fileIds, mounted, { workspaceId, files });
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
      cell: cellOf({ id: next.id, code, inputs: added }),
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
    return write(cell, kept.all, (objects) => resultOf(outcome.logs, said, kept, objects));
  };
}

/** Those that models ask for most are named first, because there is a most of what they are told. */
const FIRST_NAMED = ['numpy', 'pandas', 'matplotlib', 'scipy', 'scikit-learn', 'sympy', 'pillow', 'openpyxl', 'lxml'];
const MOST_NAMED = 80;

/** Which Python code finds, with which packages. */
export function pythonIn(about: PythonAbout | null): string {
  if (!about) return '';
  const rank = (name: string) => (FIRST_NAMED.indexOf(name.toLowerCase()) + 1 || FIRST_NAMED.length + 1) - 1;
  const all = Object.entries(about.packages)
    .sort(([one], [other]) => rank(one) - rank(other) || (one.toLowerCase() < other.toLowerCase() ? -1 : 1))
    .map(([name, version]) => `${name} ${version}`);
  const more = all.length > MOST_NAMED ? `, and ${all.length - MOST_NAMED} more` : '';
  const packages = all.length > 0 ? ` and these packages: ${all.slice(0, MOST_NAMED).join(', ')}${more}` : ' alone';
  return `It is Python ${about.version} with its standard library${packages}; nothing can be installed.`;
}

export function descriptionOf(
  inputs: readonly { readonly name: string; readonly bytes: number }[],
  seconds: number,
  about: PythonAbout | null,
): string {
  const files = inputs.map(({ name, bytes }) => `/mnt/data/${name} (${bytes} bytes)`);
  return [
    'Runs Python in a sandbox and answers what it printed and the value of its last line. Variables stay from call to call.',
    pythonIn(about),
    `There is no network, and a call may take ${seconds} seconds.`,
    'The working folder is /mnt/data: what is written there can be downloaded.',
    `To give somebody such a file, link to it like this: [name](${LINK}name).`,
    'Plots are shown when the code ends; display(value) shows other images.',
    files.length > 0 ? `These files are there: ${files.join(', ')}.` : 'No files are there yet.',
  ]
    .filter(Boolean)
    .join(' ');
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
