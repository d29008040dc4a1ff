import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Fences } from './fences.ts';
import { type Body, BrokenFrame, FrameReader, framePieces } from './frames.ts';
import guardian from './guest/guardian.mjs' with { type: 'text' };

/** What a sandbox is made of. */
export interface Place {
  /** The executable of Deno. */
  readonly deno: string;
  /** The folder of Pyodide. */
  readonly pyodide: string;
  /** The operator's folder of wheels. Code can read whatever lies there. */
  readonly wheels: string | null;
  /** A folder in which nothing lies. */
  readonly emptyFolder: string;
  /** What the kernel holds beside what Deno does. */
  readonly fences: Fences;
}

export interface ChildOptions extends Place {
  /** The file from which Python starts; null: it starts by itself. */
  readonly snapshot: string | null;
  /** What the process may have, with what Deno reserves for itself. */
  readonly memoryMb: number;
  readonly cpuSeconds: number;
}

const V8_HEAP_MB = 256;
const LONGEST_COMPLAINT = 4_096;
/** For the way of files between the sandbox and where they lie. */
export const TRANSFER_MS = 120_000;
/** It ends itself so much later than we would end it. */
const GRACE_MS = 5_000;

const PYODIDE_FILES = ['pyodide.mjs', 'pyodide.asm.mjs', 'pyodide.asm.wasm', 'python_stdlib.zip'];

/** Whatever cannot be limited is not started. */
const LIMITED =
  'unset PWD OLDPWD && ulimit -c 0 && ulimit -f 0 && ulimit -n 64 && ulimit -d "$1" && ulimit -t "$2" && shift 2 && exec nice -n 10 "$@"';

/**
 * Deno without permissions: it reads the files of Pyodide, the wheels and a snapshot, and has no network, environment,
 * processes, libraries, system calls or other files. Its cache would be a place to write to and to find what others have
 * written: it has none.
 */
function commandOf({ deno, pyodide, wheels, snapshot, fences, memoryMb, cpuSeconds }: ChildOptions): string[] {
  const readable = [...PYODIDE_FILES.map((name) => join(pyodide, name)), wheels, snapshot].filter(
    (path) => path !== null,
  );
  const denied = ['net', 'env', 'run', 'ffi', 'sys', 'write', 'import'].map((name) => `--deny-${name}`);
  const closed = ['--no-prompt', '--no-config', '--no-lock', '--no-remote', '--no-npm', '--cached-only'];
  const flags = [
    '--quiet',
    '--no-code-cache',
    `--v8-flags=--max-old-space-size=${V8_HEAP_MB},--freeze-flags-after-init`,
  ];
  const script = `data:text/javascript;base64,${Buffer.from(guardian).toString('base64')}`;
  const dataKb = String(memoryMb * 1_024);
  const limits = ['/bin/sh', '-c', LIMITED, 'sandbox', dataKb, String(cpuSeconds)];
  const permitted = `--allow-read=${readable.map((path) => path.replaceAll(',', ',,')).join(',')}`;
  return [...limits, ...fences.around([deno, 'run', ...closed, ...denied, ...flags, permitted, script], readable)];
}

const ENVIRONMENT = { DENO_DIR: '/dev/null/none' };

/** One process with one Python in it. Everything it says is hostile once it has run code. */
export class Child {
  readonly #process: ReturnType<typeof spawn>;
  readonly #reader: FrameReader;
  readonly #hasParent: boolean;
  #pid: number | null = null;
  #complaint = '';
  #isLate = false;
  #isEnded = false;
  #said: Promise<void> = Promise.resolve();

  constructor(options: ChildOptions) {
    this.#process = spawn(commandOf(options), options.emptyFolder);
    this.#hasParent = options.fences.hasParent;
    this.#reader = new FrameReader(this.#process.stdout);
    this.#hear(this.#process.stderr).catch(() => {});
  }

  /** Of the process in which code runs: the one that was started, or its only child. */
  get pid(): number {
    if (!this.#hasParent) return this.#process.pid;
    this.#pid ??= childOf(this.#process.pid);
    return this.#pid ?? this.#process.pid;
  }

  get isAlive(): boolean {
    return !this.#isEnded && this.#process.exitCode === null && this.#process.signalCode === null;
  }

  /** Whether it was ended because an answer took too long. */
  get isLate(): boolean {
    return this.#isLate;
  }

  /** What it has said on its way to its end: for the operator, as long as no code of users has run. */
  get complaint(): string {
    return this.#complaint.replaceAll(/[^\x20-\x7e]+/g, ' ').trim();
  }

  get exited(): Promise<number> {
    return this.#process.exited;
  }

  /** Says something and waits for the header of the answer. Its bodies are for `take`. */
  async ask(
    header: object,
    bodies: readonly Body[],
    withinMs: number,
    hear: () => Promise<unknown> = () => this.header(),
  ): Promise<unknown> {
    await this.within(TRANSFER_MS, () => this.say({ ...header, withinMs: withinMs + GRACE_MS }, bodies));
    return this.within(withinMs, hear);
  }

  /** The header of what the sandbox says next. */
  header(): Promise<unknown> {
    return this.#reader.header();
  }

  /** Says something whole: frames of several speakers never mix. */
  say(header: object, bodies: readonly Body[]): Promise<void> {
    const said = this.#said.then(async () => {
      for await (const piece of framePieces(header, bodies)) await this.#write(piece);
    });
    this.#said = said.catch(() => {});
    return said;
  }

  async #write(piece: Uint8Array): Promise<void> {
    try {
      this.#process.stdin.write(piece);
      await this.#process.stdin.flush();
    } catch (error) {
      throw new BrokenFrame('the sandbox does not listen any more', { cause: error });
    }
  }

  take(size: number): AsyncGenerator<Uint8Array> {
    return this.#reader.take(size);
  }

  /** It does not survive work that takes longer. */
  async within<Result>(ms: number, work: () => Promise<Result>): Promise<Result> {
    const timer = setTimeout(() => {
      this.#isLate = true;
      this.kill();
    }, ms);
    return work().finally(() => clearTimeout(timer));
  }

  kill() {
    this.#isEnded = true;
    this.#process.kill('SIGKILL');
  }

  async #hear(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    for await (const piece of stream as unknown as AsyncIterable<Uint8Array>)
      if (this.#complaint.length < LONGEST_COMPLAINT)
        this.#complaint += decoder.decode(piece).slice(0, LONGEST_COMPLAINT - this.#complaint.length);
  }
}

function childOf(pid: number): number | null {
  try {
    const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
    return child ? Number(child) : null;
  } catch {
    return null;
  }
}

const spawn = (command: string[], cwd: string) =>
  Bun.spawn(command, { cwd, env: ENVIRONMENT, stdin: 'pipe', stdout: 'pipe', stderr: 'pipe' });

/** As the guest names folders: they end like folders. */
export const folderUrl = (path: string): string => `${pathToFileURL(path).href.replace(/\/+$/, '')}/`;
