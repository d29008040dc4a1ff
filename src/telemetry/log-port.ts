import { columnsOf } from '../core/columns.ts';
import { GatewayError } from '../core/errors.ts';
import { type FigureOptions, USUAL_FIGURES } from './aggregates/options.ts';
import type { Question } from './analytics/question.ts';
import { ANSWER_WITHIN_MS } from './analytics/slices.ts';
import { LOG_COLUMNS, type LogRow } from './log-columns.ts';
import type { LogQuery, LogReach } from './log-query.ts';
import type { LogOwner, RecountProgress } from './log-sink.ts';
import type { LogTarget } from './log-store.ts';
import type { FromWorker, LogWorkerOptions, PostedBatch, PostedBodies, ThreadTracing, ToWorker } from './log-worker.ts';
import type { LogOutcome } from './log-writer.ts';
import type { Exported } from './otel/exporter.ts';
import type { PostedTrace } from './otel/record.ts';
import type { Span } from './otel/span.ts';
import type { SessionQuery } from './sessions/reading.ts';
import type { Shipment, ShipmentOrder } from './shipments/shipment.ts';

/** Records as the event loop hands them over; the buffers belong to the receiver afterwards. */
export interface OutgoingBatch {
  readonly rows: readonly LogRow[];
  readonly parts: readonly (number[] | null)[];
  readonly slab: ArrayBuffer | null;
  readonly moved: readonly ArrayBuffer[];
  /** As many as rows; null: calls are not traced. */
  readonly traces: readonly (PostedTrace | null)[] | null;
}

/** The event loop's side of the log threads. */
export interface LogWorkerPort {
  /** Records and bytes that were sent and are neither committed nor spooled yet. */
  readonly queuedRecords: number;
  readonly queuedBytes: number;
  send(batch: OutgoingBatch): void;
  /** A span that no entry tells of. */
  addSpan(span: Span): void;
  /** A page as JSON text: it goes to the client as it is. Throws `store_unavailable`. */
  list(query: LogQuery): Promise<string>;
  /** One entry as JSON text, or null. */
  read(reach: LogReach, id: string): Promise<string | null>;
  /** A page of sessions as JSON text. Throws `store_unavailable`. */
  sessions(query: SessionQuery): Promise<string>;
  /** The sessions of that id, as a list in JSON text: several workspaces may have one. */
  session(reach: LogReach, id: string): Promise<string>;
  /** Figures as JSON text. Throws `store_unavailable`, and `analytics_too_slow` when they take too long. */
  analyse(question: Question): Promise<string>;
  /** Removes at most so many entries of one owner, with their bodies; says how many. Throws `store_unavailable`. */
  erase(whose: LogOwner, atMost: number): Promise<number>;
  /** Has figures counted anew from the log, when told to; says how far that is. Throws `store_unavailable`. */
  recount(isToBegin: boolean): Promise<RecountProgress>;
  /** Lays the entries that are exported next into files; null: none waits. Throws `store_unavailable`. */
  pack(order: ShipmentOrder): Promise<Shipment | null>;
  /** A shipment is there whole: its entries never leave again. */
  shipped(name: string): Promise<void>;
  /** Resolves when everything sent so far is committed or spooled. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

export interface LogPortOptions {
  /** The address of `log-worker.ts`; given from outside because a compiled executable has its own. */
  readonly workerUrl: string | URL;
  readonly target: LogTarget;
  /** Holds the spool. */
  readonly dataDir: string;
  readonly retentionDays: number | null;
  /** What figures are kept by, and for how long. */
  readonly figures?: FigureOptions;
  /** Whether words are looked for in bodies that ask for it. */
  readonly searches?: boolean;
  /** Whether entries wait to be exported. */
  readonly isExported?: boolean;
  readonly spoolBytes?: number;
  /** How long figures may take. */
  readonly analyseWithinMs?: number;
  readonly onOutcome: (outcome: Partial<LogOutcome>) => void;
  /** Null: nothing is exported. */
  readonly otel?: ThreadTracing | null;
  readonly onExported?: (exported: Exported) => void;
}

const DEFAULT_SPOOL_BYTES = 1024 * 1024 * 1024;
const RESTART_AFTER_MS = 1_000;
/** A batch that was in the thread at two crashes may be what crashes it. */
const MOST_SENDINGS = 2;

interface Sent {
  readonly rows: readonly LogRow[];
  readonly bytes: number;
  readonly bodies: number;
  sendings: number;
}

export function openLogPort(options: LogPortOptions): LogWorkerPort {
  const { target, dataDir, retentionDays, spoolBytes = DEFAULT_SPOOL_BYTES, workerUrl, onOutcome } = options;
  const { isExported = false } = options;
  const { analyseWithinMs = ANSWER_WITHIN_MS, figures = USUAL_FIGURES, otel = null, onExported = () => {} } = options;
  const shared = {
    target,
    dataDir,
    retentionDays,
    spoolBytes,
    figures,
    isExported,
    searches: options.searches ?? false,
  };
  let number = 0;
  let queuedRecords = 0;
  let queuedBytes = 0;
  const sent = new Map<number, Sent>();

  const settle = (batch: number) => {
    const entry = sent.get(batch);
    if (!entry) return;
    sent.delete(batch);
    queuedRecords -= entry.rows.length;
    queuedBytes -= entry.bytes;
  };

  /** Bodies went with the thread; records are sent again, which does no harm to those that had arrived. */
  const sendAgain = () => {
    for (const [batch, entry] of sent) {
      queuedBytes -= entry.bytes;
      if (++entry.sendings > MOST_SENDINGS) {
        onOutcome({ dropped: entry.rows.length });
        sent.delete(batch);
        queuedRecords -= entry.rows.length;
        continue;
      }
      if (entry.bodies > 0) onOutcome({ bodiesDropped: entry.bodies });
      sent.set(batch, { ...entry, bytes: 0, bodies: 0 });
      // Its spans may have left before the thread died: they are not built a second time.
      writer.post(textOf(batch, entry.rows, null, null));
    }
  };

  const writer = new Thread(
    workerUrl,
    { ...shared, role: 'writer', otel },
    {
      onMessage: (message) => {
        if (message.kind === 'stored') settle(message.number);
        else if (message.kind === 'outcome') onOutcome(message.outcome);
        else if (message.kind === 'exported') onExported(message.exported);
      },
      onRestart: sendAgain,
    },
  );
  let reader: Thread | null = null;
  const ask = (question: (number: number) => ToWorker) => {
    reader ??= new Thread(workerUrl, { ...shared, role: 'reader', otel: null }, {});
    return reader.call(question);
  };
  let packer: Thread | null = null;
  const askPacker = (question: (number: number) => ToWorker) => {
    packer ??= new Thread(workerUrl, { ...shared, role: 'packer', otel: null }, {});
    return packer.call(question);
  };

  return {
    get queuedRecords() {
      return queuedRecords;
    },
    get queuedBytes() {
      return queuedBytes;
    },
    send: ({ rows, parts, slab, moved, traces }) => {
      const batch = ++number;
      const bytes = moved.reduce((total, buffer) => total + buffer.byteLength, slab?.byteLength ?? 0);
      queuedRecords += rows.length;
      queuedBytes += bytes;
      const bodies = parts.reduce((total, part) => total + (part ? 1 : 0), 0);
      sent.set(batch, { rows, bytes, bodies, sendings: 1 });
      writer.post(textOf(batch, rows, slab ? parts : null, traces));
      if (slab) {
        const message: PostedBodies = { kind: 'bodies', slab, moved: [...moved] };
        writer.post(message, [slab, ...moved]);
      }
    },
    addSpan: (span) => writer.post({ kind: 'span', span }),
    list: (query) => ask((call) => ({ kind: 'list', number: call, query })),
    read: async (reach, id) => {
      const json = await ask((call) => ({ kind: 'read', number: call, reach, id }));
      return json === 'null' ? null : json;
    },
    sessions: (query) => ask((call) => ({ kind: 'sessions', number: call, query })),
    session: (reach, id) => ask((call) => ({ kind: 'session', number: call, reach, id })),
    analyse: (question) => ask((call) => ({ kind: 'analyse', number: call, question, withinMs: analyseWithinMs })),
    erase: async (whose, atMost) =>
      Number(await writer.call((call) => ({ kind: 'erase', number: call, whose, atMost }))),
    recount: async (isToBegin) =>
      JSON.parse(await writer.call((call) => ({ kind: 'recount', number: call, isToBegin }))) as RecountProgress,
    pack: async (order) =>
      JSON.parse(await askPacker((call) => ({ kind: 'pack', number: call, order }))) as Shipment | null,
    shipped: async (name) => {
      await askPacker((call) => ({ kind: 'shipped', number: call, name }));
    },
    flush: async () => {
      await writer.call((call) => ({ kind: 'flush', number: call }));
    },
    close: async () => {
      await Promise.all([writer.close(), reader?.close(), packer?.close()]);
    },
  };
}

function textOf(
  number: number,
  rows: readonly LogRow[],
  parts: readonly (number[] | null)[] | null,
  traces: OutgoingBatch['traces'],
): string {
  const batch: PostedBatch = {
    number,
    hasBodies: parts !== null,
    count: rows.length,
    columns: columnsOf(rows, LOG_COLUMNS),
    parts: (parts ?? []) as PostedBatch['parts'],
    ...(traces && { traces }),
  };
  return JSON.stringify(batch);
}

interface ThreadEvents {
  readonly onMessage?: (message: FromWorker) => void;
  /** Called when a crashed thread was replaced. */
  readonly onRestart?: () => void;
}

interface Waiter {
  readonly resolve: (json: string) => void;
  readonly reject: (error: unknown) => void;
}

/** A worker that is replaced when it dies. */
class Thread {
  readonly #url: string | URL;
  readonly #options: LogWorkerOptions;
  readonly #events: ThreadEvents;
  readonly #waiters = new Map<number, Waiter>();
  #worker: Worker | null = null;
  #calls = 0;
  #isClosed = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(url: string | URL, options: LogWorkerOptions, events: ThreadEvents) {
    this.#url = url;
    this.#options = options;
    this.#events = events;
    this.#start();
  }

  /** While the thread is being replaced, batches wait in the sender's own list of what was sent. */
  post(message: ToWorker, transfer: ArrayBuffer[] = []): void {
    this.#worker?.postMessage(message, transfer);
  }

  call(message: (number: number) => ToWorker): Promise<string> {
    if (!this.#worker) return Promise.reject(new GatewayError('store_unavailable', []));
    const number = ++this.#calls;
    return new Promise((resolve, reject) => {
      this.#waiters.set(number, { resolve, reject });
      this.post(message(number));
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const worker = this.#worker;
    if (!worker) return;
    await this.call((number) => ({ kind: 'close', number })).catch(() => {});
    this.#worker = null;
    worker.terminate();
  }

  #start() {
    const worker = new Worker(this.#url);
    this.#worker = worker;
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.#receive(data);
    worker.onerror = (event) => {
      event.preventDefault();
      worker.terminate();
      this.#died(worker);
    };
    worker.addEventListener('close', () => this.#died(worker));
    this.post({ kind: 'start', options: this.#options });
  }

  #receive(message: FromWorker) {
    if (message.kind === 'stored' || message.kind === 'outcome' || message.kind === 'exported')
      return this.#events.onMessage?.(message);
    const waiter = this.#waiters.get(message.number);
    this.#waiters.delete(message.number);
    if (message.kind === 'failed') waiter?.reject(failureOf(message));
    else waiter?.resolve(message.kind === 'answer' ? message.json : '');
  }

  #died(worker: Worker) {
    if (this.#worker !== worker) return;
    this.#worker = null;
    for (const { reject } of this.#waiters.values()) reject(new GatewayError('store_unavailable', []));
    this.#waiters.clear();
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#start();
      this.#events.onRestart?.();
    }, RESTART_AFTER_MS);
  }
}

function failureOf({ code, message }: Extract<FromWorker, { kind: 'failed' }>): Error {
  if (code === 'analytics_too_slow') return new GatewayError(code, [ANSWER_WITHIN_MS / 1_000]);
  return code === null ? new Error(message) : new GatewayError(code, []);
}
