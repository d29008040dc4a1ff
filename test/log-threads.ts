import type { CountQuestion, CountReply } from '../src/core/token-worker.ts';
import type { FromWorker, LogWorkerOptions, ToWorker } from '../src/telemetry/log-worker.ts';

/** So many of each role wait for the next gateway; what they hold of memory is little beside a gateway. */
const MOST_WAITING = 4;

interface Workers {
  Worker: typeof Worker;
  /** A process may come here twice; what it finds the second time is no longer Bun's own. */
  ofBun?: typeof Worker;
}

const workers = globalThis as unknown as Workers;
workers.ofBun ??= workers.Worker;
const OfBun = workers.ofBun;
const waiting = new Map<LogWorkerOptions['role'], Worker[]>();

/**
 * The thread behind the log as a gateway sees it. Hundreds of gateways start in the process of the tests, and to load and
 * translate the code of a new thread took half of what each start costs. So a thread that has done all it was told to,
 * and has closed its store, is used again by the next gateway, which starts it anew with options of its own. One that
 * owes an answer, that crashed, or whose calls are traced ends as it does elsewhere.
 */
class LogThread {
  onmessage: ((event: MessageEvent<FromWorker>) => void) | null = null;
  onerror: ((event: ErrorEvent) => void) | null = null;
  readonly #url: string | URL;
  #role: LogWorkerOptions['role'] | null = null;
  #worker: Worker | null = null;
  #onClose: () => void = () => {};
  /** Calls without an answer, and batches that are not stored. */
  readonly #owed = new Set<string>();
  #closing: number | null = null;
  #isClosed = false;
  #mayBeUsedAgain = true;

  constructor(url: string | URL) {
    this.#url = url;
  }

  addEventListener(_name: 'close', listener: () => void): void {
    this.#onClose = listener;
  }

  postMessage(message: ToWorker, transfer: ArrayBuffer[] = []): void {
    if (typeof message === 'string') this.#owed.add(`batch ${(JSON.parse(message) as { number: number }).number}`);
    else if (message.kind === 'start') this.#begin(message.options);
    else if ('number' in message) {
      this.#owed.add(`call ${message.number}`);
      if (message.kind === 'close') this.#closing = message.number;
    }
    this.#worker?.postMessage(message, transfer);
  }

  terminate(): void {
    const worker = this.#worker;
    this.#worker = null;
    if (!worker) return;
    worker.onmessage = null;
    worker.onerror = null;
    worker.removeEventListener('close', this.#onClose);
    const others = waiting.get(this.#role!) ?? [];
    if (this.#isClosed && this.#mayBeUsedAgain && this.#owed.size === 0 && others.length < MOST_WAITING) {
      worker.unref();
      waiting.set(this.#role!, [...others, worker]);
    } else worker.terminate();
  }

  #begin({ role, otel }: LogWorkerOptions) {
    const worker = waiting.get(role)?.pop() ?? new OfBun(this.#url);
    worker.ref();
    this.#worker = worker;
    this.#role = role;
    this.#mayBeUsedAgain = otel === null;
    worker.onmessage = (event: MessageEvent<FromWorker>) => {
      this.#note(event.data);
      this.onmessage?.(event);
    };
    worker.onerror = (event) => {
      this.#mayBeUsedAgain = false;
      this.onerror?.(event);
    };
    worker.addEventListener('close', this.#onClose);
  }

  #note(message: FromWorker) {
    if (message.kind === 'stored') this.#owed.delete(`batch ${message.number}`);
    else if ('number' in message) {
      this.#owed.delete(`call ${message.number}`);
      if (message.number === this.#closing) this.#isClosed = true;
    }
  }
}

const counting: Worker[] = [];

/**
 * The thread that counts tokens as a gateway sees it. To load its vocabulary takes a second, and it remembers nothing of who
 * asked, so one that has answered all is used again by the next gateway.
 */
class CountingThread {
  onmessage: ((event: MessageEvent<CountReply>) => void) | null = null;
  onerror: ((event: ErrorEvent) => void) | null = null;
  readonly #worker: Worker;
  readonly #owed = new Set<number>();
  #onClose: () => void = () => {};
  #mayBeUsedAgain = true;

  constructor(url: string | URL) {
    const worker = counting.pop() ?? new OfBun(url);
    this.#worker = worker;
    worker.onmessage = (event: MessageEvent<CountReply>) => {
      this.#owed.delete(event.data.id);
      this.onmessage?.(event);
    };
    worker.onerror = (event) => {
      this.#mayBeUsedAgain = false;
      this.onerror?.(event);
    };
  }

  addEventListener(_name: 'close', listener: () => void): void {
    this.#onClose = () => {
      this.#mayBeUsedAgain = false;
      listener();
    };
    this.#worker.addEventListener('close', this.#onClose);
  }

  unref(): void {
    this.#worker.unref();
  }

  postMessage(question: CountQuestion): void {
    this.#owed.add(question.id);
    this.#worker.postMessage(question);
  }

  terminate(): void {
    this.#worker.onmessage = null;
    this.#worker.onerror = null;
    this.#worker.removeEventListener('close', this.#onClose);
    if (this.#mayBeUsedAgain && this.#owed.size === 0 && counting.length === 0) counting.push(this.#worker);
    else this.#worker.terminate();
  }
}

/** Every other thread is Bun's own. */
workers.Worker = new Proxy(OfBun, {
  construct: (_target, [url, options]: [string | URL, WorkerOptions?]) => {
    if (String(url).endsWith('/telemetry/log-worker.ts')) return new LogThread(url);
    if (String(url).endsWith('/core/token-worker.ts')) return new CountingThread(url);
    return new OfBun(url, options);
  },
});
