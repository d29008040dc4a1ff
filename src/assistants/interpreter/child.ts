import { closeSync, openSync, readFileSync } from 'node:fs';
import { type Body, BrokenFrame, FrameReader, framePieces } from './frames.ts';

/** How a process is started in which one Python waits for what it is told. */
export interface Launch {
  readonly command: readonly string[];
  /** Where it starts. Nothing lies there. */
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Whether the process that is started has the one in which code runs as its child. */
  readonly hasParent: boolean;
  /** A file that the command reads as its descriptor 3; null: it has none. */
  readonly filter: string | null;
}

const LONGEST_COMPLAINT = 4_096;
/** For the way of files between the sandbox and where they lie. */
export const TRANSFER_MS = 120_000;
/** It ends itself so much later than we would end it. */
const GRACE_MS = 5_000;

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

  constructor(launch: Launch) {
    this.#process = spawn(launch);
    this.#hasParent = launch.hasParent;
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

function spawn({ command, folder, environment, filter }: Launch) {
  const file = filter === null ? null : openSync(filter, 'r');
  try {
    return Bun.spawn([...command], {
      cwd: folder,
      env: environment,
      stdio: ['pipe', 'pipe', 'pipe', ...(file === null ? [] : [file])],
    });
  } finally {
    if (file !== null) closeSync(file);
  }
}
