import type { Subprocess } from 'bun';
import type { Chunk } from './chunks.ts';
import { DocumentFault, invalid } from './document.ts';
import type { Asked, Told } from './protocol.ts';

/** The process ended in the middle of a document: it took too much memory, or was killed. */
export class ReadingFailed extends Error {
  override readonly name = 'ReadingFailed';
}

export interface ReadingLimits {
  /** Time spent waiting for the process, over a whole document. */
  readonly ms: number;
  /** Memory that it may write to; some 600 MB of it are the runtime's before anything happens. */
  readonly kibibytes: number;
  /** Processor time of a process. If the gateway is killed and watches it no more, the process ends by this bound. */
  readonly seconds: number;
  readonly bytes: number;
}

/** A shell sets the limits, because only a process can set its own. */
const WITH_LIMITS = 'ulimit -d "$1" && ulimit -t "$2" && ulimit -c 0 && shift 2 && exec "$@"';

/** One process that reads documents, one after the other. */
export class ReadingProcess {
  readonly #child: Subprocess<'pipe', 'pipe', 'ignore'>;
  readonly #limits: ReadingLimits;
  readonly #lines: AsyncGenerator<string>;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isEnded = false;
  #busyMs = 0;

  constructor({ command, limits }: { command: readonly string[]; limits: ReadingLimits }) {
    this.#limits = limits;
    const bounds = [String(limits.kibibytes), String(limits.seconds)];
    // Nothing of the gateway's environment: its secrets are there.
    this.#child = Bun.spawn(['/bin/sh', '-c', WITH_LIMITS, 'sh', ...bounds, ...command], {
      cwd: '/',
      env: {},
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'ignore',
    });
    this.#child.unref();
    this.#lines = linesOf(this.#child.stdout);
  }

  get isAlive(): boolean {
    return !this.#isEnded && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Whether what is left of its processor time is enough for another document, however long that takes. */
  get isFresh(): boolean {
    return this.isAlive && this.#busyMs + this.#limits.ms < this.#limits.seconds * 1_000;
  }

  /** Ends after so long, unless it is woken. */
  rest(ms: number, onEnd: () => void) {
    this.#timer = setTimeout(() => {
      this.end();
      onEnd();
    }, ms);
    this.#timer.unref?.();
  }

  wake() {
    clearTimeout(this.#timer);
  }

  end() {
    this.#isEnded = true;
    clearTimeout(this.#timer);
    this.#child.kill('SIGKILL');
  }

  /** The time in which the caller does not ask for the next chunk does not count as the process's own. */
  async *read(asked: Asked, open: () => Promise<ReadableStream<Uint8Array>>): AsyncGenerator<Chunk> {
    let leftMs = this.#limits.ms;
    const { promise: broken, reject } = Promise.withResolvers<never>();
    broken.catch(() => {});
    this.#send(asked, open).catch(reject);
    for (;;) {
      const startedAt = performance.now();
      const line = await this.#within(leftMs, Promise.race([this.#lines.next(), broken]));
      const waitedMs = performance.now() - startedAt;
      leftMs -= waitedMs;
      this.#busyMs += waitedMs;
      if (line.done) throw new ReadingFailed('The process that reads documents ended in the middle of one.');
      const told = JSON.parse(line.value) as Told;
      if ('fault' in told) throw new DocumentFault(told.fault.code, told.fault.message);
      if ('end' in told) return;
      yield told.chunk;
    }
  }

  async #send(asked: Asked, open: () => Promise<ReadableStream<Uint8Array>>): Promise<void> {
    const content = await open();
    const { stdin } = this.#child;
    try {
      stdin.write(`${JSON.stringify(asked)}\n`);
      for await (const piece of content as unknown as AsyncIterable<Uint8Array>) {
        stdin.write(piece);
        await stdin.flush();
      }
      await stdin.flush();
    } catch (error) {
      // The code that waits for an answer notices a process that is gone; content that cannot be had, only this does.
      if (this.isAlive) throw error;
    }
  }

  async #within<Value>(ms: number, answer: Promise<Value>): Promise<Value> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(), ms);
    try {
      return await Promise.race([answer, late.promise.catch(() => this.#tooSlow())]);
    } finally {
      clearTimeout(timer);
    }
  }

  #tooSlow(): never {
    this.end();
    return invalid(`Reading the file took more than ${Math.round(this.#limits.ms / 1_000)} seconds.`);
  }
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const piece of stream as unknown as AsyncIterable<Uint8Array>) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split('\n');
    rest = lines.pop()!;
    yield* lines;
  }
}
