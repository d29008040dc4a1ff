import type { Subprocess } from 'bun';
import type { AnswerMessage, AskMessage } from './siblings.ts';

/** What a process tells the one that started it, once it answers. */
export interface ReadyMessage {
  readonly kind: 'ready';
  readonly greeting: string;
}

export interface ProcessesOptions {
  readonly count: number;
  readonly command: readonly string[];
  readonly environment: (number: number) => Record<string, string | undefined>;
  /** How long they may take to stop before they are killed. */
  readonly stopWithinMs: number;
  readonly warn: (line: string) => void;
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;
/** One that lived this long is no longer failing to start. */
const STEADY_MS = 30_000;

interface Started {
  readonly child: Subprocess;
  readonly ready: Promise<string>;
}

/** Several processes that do the same; whichever dies is started again, until all are stopped. */
export class Processes {
  readonly #options: ProcessesOptions;
  readonly #children = new Map<number, Subprocess>();
  /** Those that answer. */
  readonly #ready = new Map<number, Subprocess>();
  #isStopping = false;

  constructor(options: ProcessesOptions) {
    this.#options = options;
  }

  /** Resolves with the first one's greeting when all are ready; rejects when one ends before it is. */
  async start(): Promise<string> {
    // The first one makes what all share: the tables, the admin key. Together they might each make their own.
    const greeting = await this.#first(0);
    const others = Array.from({ length: this.#options.count - 1 }, (_, index) => this.#first(index + 1));
    await Promise.all(others);
    return greeting;
  }

  /** Lets all of them finish. Answers how many did not, and were killed. */
  async stop(): Promise<{ killed: number }> {
    this.#isStopping = true;
    const children = [...this.#children.values()];
    for (const child of children) child.kill('SIGTERM');
    const deadline = Bun.sleep(this.#options.stopWithinMs).then(() => 'late' as const);
    const outcomes = await Promise.all(children.map((child) => Promise.race([child.exited, deadline])));
    const late = children.filter((_, index) => outcomes[index] === 'late');
    for (const child of late) child.kill('SIGKILL');
    await Promise.all(late.map((child) => child.exited));
    return { killed: late.length };
  }

  async #first(number: number): Promise<string> {
    const { child, ready } = this.#spawn(number);
    const greeting = await ready;
    void this.#keep(number, child);
    return greeting;
  }

  #spawn(number: number): Started {
    const { command, environment } = this.#options;
    const { promise: ready, resolve, reject } = Promise.withResolvers<string>();
    const child = Bun.spawn([...command], {
      env: environment(number),
      stdio: ['ignore', 'inherit', 'inherit'],
      ipc: (message: ReadyMessage | AskMessage | AnswerMessage) => {
        if (message.kind === 'ask') return this.#passOn(message);
        if (message.kind === 'answer') return void this.#send(message.to, message);
        this.#ready.set(number, child);
        resolve(message.greeting);
      },
    });
    child.exited.then(() => {
      if (this.#ready.get(number) === child) this.#ready.delete(number);
      reject(new Error(`process ${number} ended before it was ready`));
    });
    // Only the first start is awaited; the failure of a later one must not count as unhandled.
    ready.catch(() => {});
    this.#children.set(number, child);
    return { child, ready };
  }

  /** Which ones there are is known here alone, so who asks need not wait for one that is gone. */
  #passOn(message: AskMessage) {
    for (let number = 0; number < this.#options.count; number++) {
      if (number === message.from || this.#send(number, message)) continue;
      this.#send(message.from, { ...message, kind: 'answer', from: number, to: message.from, families: null });
    }
  }

  #send(to: number, message: AskMessage | AnswerMessage): boolean {
    try {
      this.#ready.get(to)?.send(message);
      return this.#ready.has(to);
    } catch {
      // It has just ended.
      return false;
    }
  }

  async #keep(number: number, first: Subprocess) {
    let child = first;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2)) {
      const startedAt = performance.now();
      await child.exited;
      if (this.#isStopping) return;
      if (performance.now() - startedAt > STEADY_MS) pauseMs = FIRST_PAUSE_MS;
      const how = child.signalCode ?? `exit code ${child.exitCode}`;
      this.#options.warn(`Process ${number} ended (${how}); it is started again in ${pauseMs} ms.`);
      await Bun.sleep(pauseMs);
      if (this.#isStopping) return;
      child = this.#spawn(number).child;
    }
  }
}
