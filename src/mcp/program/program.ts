import { closeSync } from 'node:fs';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import guard from './guard.pl' with { type: 'text' };
import { LineCutter } from './line-cutter.ts';

export interface ProgramStart {
  readonly command: string;
  readonly args: readonly string[];
  /** All that its environment holds, beside where its own folder is. */
  readonly env: Readonly<Record<string, string>>;
  /** Null: the gateway's own. */
  readonly user: { readonly id: number; readonly group: number; readonly mostProcesses: number } | null;
  readonly memoryMb: number;
  /** Is told every line that the program prints on its output. */
  readonly hear: (line: Uint8Array) => void;
}

/** How a program came to its end. */
export interface ProgramEnd {
  /** Whether the gateway ended it. */
  readonly isStopped: boolean;
  readonly why: string;
}

const MOST_LINE_BYTES = 16 << 20;
/** What waits until the program reads it. */
const MOST_UNREAD_BYTES = 32 << 20;
const MOST_SAID = 4_096;
/** Of one process, over its whole life. It is started again when it is needed. */
const PROCESSOR_SECONDS = 3_600;
const LAST_WORDS_MS = 2_000;
const PERL = '/usr/bin/perl';
/** The numbers of the system calls prctl and prlimit64. */
const CALLS: Readonly<Record<string, readonly string[]>> = { x64: ['157', '302'], arm64: ['167', '261'] };

/** Why no program can be run on this machine; null: it can. */
export const whyNoPrograms = (): string | null =>
  process.platform === 'linux' && CALLS[process.arch] !== undefined
    ? null
    : 'programs are run on Linux alone, on x64 and arm64';

const spawn = (command: string[], env: Record<string, string>) =>
  Bun.spawn(command, { cwd: '/', env, stdio: ['pipe', 'pipe', 'pipe', 'pipe'] });

/** A running program with a guard around it that ends with the gateway; see guard.pl. What it prints may be hostile. */
export class Program {
  readonly startedAt = performance.now();
  readonly ended: Promise<ProgramEnd>;
  readonly #child: ReturnType<typeof spawn>;
  #life: number | null;
  #isStopped = false;
  #fault: string | null = null;
  #unread = 0;
  #said = '';

  private constructor(child: ReturnType<typeof spawn>, hear: ProgramStart['hear']) {
    this.#child = child;
    this.#life = child.stdio[3] as unknown as number;
    child.unref();
    const heard = Promise.all([this.#listen(hear), this.#keepSaid()]);
    this.ended = child.exited.then(async (code) => {
      // Its guard has ended all that could still print. Where the guard itself was killed, that is not waited for.
      await Promise.race([heard, Bun.sleep(LAST_WORDS_MS)]);
      this.#letGo();
      return { isStopped: this.#isStopped && this.#fault === null, why: this.#fault ?? whyEnded(code) };
    });
  }

  static async start({ command, args, env, user, memoryMb, hear }: ProgramStart): Promise<Program> {
    const folder = await mkdtemp(join(tmpdir(), 'gateway-mcp-'));
    try {
      if (user) await chown(folder, user.id, user.group);
      const who = user ? [user.id, user.group, user.mostProcesses].map(String) : ['', '', ''];
      const limits = [String(memoryMb), String(PROCESSOR_SECONDS)];
      const around = [PERL, '-e', guard, ...(CALLS[process.arch] ?? []), ...who, folder, ...limits, '--'];
      // Nothing of the gateway's environment: its secrets are there.
      const own = { PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8', ...env, HOME: folder, TMPDIR: folder };
      return new Program(spawn([...around, command, ...args], own), hear);
    } catch (error) {
      // No guard has come to be that would do it.
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  get pid(): number {
    return this.#child.pid;
  }

  get isStopping(): boolean {
    return this.#isStopped;
  }

  /** The end of what it said on its error output, and of what it printed that is no message: for owners alone. */
  get said(): string {
    return this.#said.trim();
  }

  /** Keeps something for `said`. */
  note(text: string): void {
    this.#said = (this.#said + text).slice(-MOST_SAID);
  }

  /** Ends a program that does what no program may. */
  endFor(fault: string): void {
    this.#fault ??= fault;
    this.stop();
  }

  /** It is asked to end, and killed two seconds later with all that it has started. */
  stop(): void {
    this.#isStopped = true;
    try {
      void Promise.resolve(this.#child.stdin.end()).catch(() => {});
    } catch {
      // It has closed its input already.
    }
    this.#letGo();
  }

  /** Says something to it. Throws where it is gone. */
  async send(line: Uint8Array): Promise<void> {
    if (this.#unread + line.byteLength > MOST_UNREAD_BYTES) return this.endFor('it does not read what it is told');
    this.#unread += line.byteLength;
    try {
      this.#child.stdin.write(Buffer.concat([line, NEWLINE]));
      await this.#child.stdin.flush();
    } finally {
      this.#unread -= line.byteLength;
    }
  }

  #letGo() {
    if (this.#life === null) return;
    closeSync(this.#life);
    this.#life = null;
  }

  async #listen(hear: ProgramStart['hear']): Promise<void> {
    const cutter = new LineCutter(MOST_LINE_BYTES);
    for await (const piece of this.#child.stdout as unknown as AsyncIterable<Uint8Array>) {
      if (this.#fault !== null) continue;
      const lines = cutter.push(piece);
      if (!lines) this.endFor(`it printed a line of more than ${MOST_LINE_BYTES >> 20} MiB`);
      else for (const line of lines) if (this.#fault === null) hear(line);
    }
  }

  async #keepSaid(): Promise<void> {
    const decoder = new TextDecoder();
    for await (const piece of this.#child.stderr as unknown as AsyncIterable<Uint8Array>)
      this.note(decoder.decode(piece.length > MOST_SAID ? piece.subarray(-MOST_SAID) : piece, { stream: true }));
  }
}

const NEWLINE = Buffer.from('\n');

const whyEnded = (code: number): string =>
  code > 128 ? `it was ended by signal ${code - 128}` : `it ended by itself with ${code}`;
