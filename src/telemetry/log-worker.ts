/**
 * The thread behind the request log. As `writer` it stores batches; as `reader`, in a thread of its own,
 * it answers questions, so that a slow listing delays neither writes nor the event loop.
 */
import { readlinkSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import { join } from 'node:path';
import { type Columns, rowsOf } from '../core/columns.ts';
import { GatewayError } from '../core/errors.ts';
import { GcHeadroom } from '../core/runtime/gc-headroom.ts';
import { giveBackMemory, QUIET_AFTER_MS } from '../core/runtime/idle-memory.ts';
import { isStoreAway } from '../storage/unavailable.ts';
import type { Question } from './analytics/question.ts';
import { LOG_COLUMNS, type LogRow } from './log-columns.ts';
import type { LogQuery, LogReach } from './log-query.ts';
import type { Cell, LogBatch, LogOwner, SinkOptions } from './log-sink.ts';
import type { LogRole, LogStore, LogTarget } from './log-store.ts';
import { type LogOutcome, LogWriter } from './log-writer.ts';
import type { Exported } from './otel/exporter.ts';
import type { PostedTrace } from './otel/record.ts';
import type { Span } from './otel/span.ts';
import type { Tracer, TracerOptions } from './otel/tracer.ts';
import type { PackedBody } from './packed-bodies.ts';
import type { SessionQuery } from './sessions/reading.ts';
import type { ShipmentOrder } from './shipments/shipment.ts';
import { Spool } from './spool.ts';
import { openSqliteSink } from './sqlite-sink.ts';

export interface LogWorkerOptions extends Required<SinkOptions> {
  readonly role: LogRole;
  readonly target: LogTarget;
  readonly dataDir: string;
  readonly retentionDays: number | null;
  readonly spoolBytes: number;
  /** Null: nothing is exported from this thread. */
  readonly otel: ThreadTracing | null;
}

export type ThreadTracing = Omit<TracerOptions, 'report'>;

/**
 * A batch comes as one string, which costs nothing to post, followed, when `hasBodies`, by the buffers. Each row's
 * bodies are a list of parts: so many bytes of the slab, or -1 for the next buffer that was moved whole.
 */
export interface PostedBatch {
  readonly number: number;
  readonly hasBodies: boolean;
  readonly count: number;
  readonly columns: Columns<Cell>;
  readonly parts: (number[] | null)[];
  /** As many as there are rows, where calls are traced. */
  readonly traces?: readonly (PostedTrace | null)[];
}

export interface PostedBodies {
  readonly kind: 'bodies';
  readonly slab: ArrayBuffer;
  readonly moved: ArrayBuffer[];
}

export type ToWorker =
  | string
  | PostedBodies
  | { readonly kind: 'start'; readonly options: LogWorkerOptions }
  | { readonly kind: 'span'; readonly span: Span }
  | { readonly kind: 'flush' | 'close'; readonly number: number }
  | { readonly kind: 'erase'; readonly number: number; readonly whose: LogOwner; readonly atMost: number }
  | { readonly kind: 'recount'; readonly number: number; readonly isToBegin: boolean }
  | { readonly kind: 'list'; readonly number: number; readonly query: LogQuery }
  | { readonly kind: 'read'; readonly number: number; readonly reach: LogReach; readonly id: string }
  | { readonly kind: 'sessions'; readonly number: number; readonly query: SessionQuery }
  | { readonly kind: 'session'; readonly number: number; readonly reach: LogReach; readonly id: string }
  | { readonly kind: 'pack'; readonly number: number; readonly order: ShipmentOrder }
  | { readonly kind: 'shipped'; readonly number: number; readonly name: string }
  | { readonly kind: 'analyse'; readonly number: number; readonly question: Question; readonly withinMs: number };

export type FromWorker =
  | { readonly kind: 'stored'; readonly number: number }
  | { readonly kind: 'outcome'; readonly outcome: Partial<LogOutcome> }
  | { readonly kind: 'exported'; readonly exported: Exported }
  | { readonly kind: 'done'; readonly number: number }
  | { readonly kind: 'answer'; readonly number: number; readonly json: string }
  | {
      readonly kind: 'failed';
      readonly number: number;
      /** What is answered; null: the failure is unexpected. */
      readonly code: 'store_unavailable' | 'analytics_too_slow' | null;
      readonly message: string;
    };

declare const self: { onmessage: ((event: { data: ToWorker }) => void) | null; postMessage(message: FromWorker): void };

/** A question that comes just after the start waits this long for the writer to create the tables. */
const READY_WITHIN_MS = 2_000;
const ASK_AGAIN_MS = 25;
const DAY_MS = 24 * 60 * 60 * 1000;

type Handler = (message: Exclude<ToWorker, { kind: 'start' }>) => void;

let handle: Handler = () => {};

self.onmessage = ({ data }) => {
  if (typeof data === 'object' && data.kind === 'start') handle = start(data.options);
  else handle(data);
};

const start = (options: LogWorkerOptions): Handler => {
  if (options.role === 'packer') return pack(options);
  if (options.role !== 'writer') return answer(options);
  if (!options.otel) return write(options, null);
  // Loaded where calls are traced, and nowhere else; what comes meanwhile waits.
  const waiting: Parameters<Handler>[0][] = [];
  void import('./otel/tracer.ts').then(({ openTracer }) => {
    const report = (exported: Exported) => self.postMessage({ kind: 'exported', exported });
    handle = write(options, openTracer({ ...options.otel!, report }));
    for (const message of waiting) handle(message);
  });
  return (message) => void waiting.push(message);
};

/** Loaded by those who need it: the writer of the embedded log is not among them. */
const openStore = async (target: LogTarget, role: LogRole, options?: SinkOptions): Promise<LogStore> =>
  (await import('./log-store.ts')).openLogStore(target, role, options);

/** Answering calls comes a little before writing about them, also where both share one core. */
const WRITER_BEHIND = 2;
const LAST_PRIORITY = 19;

/** On Linux a thread has a priority of its own; elsewhere, or without leave to set it, the writer is like any other. */
function stepBack() {
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
    if (thread > 0 && thread !== process.pid)
      setPriority(thread, Math.min(LAST_PRIORITY, getPriority() + WRITER_BEHIND));
  } catch {
    // Not worth a word: it changes when something is written, not whether.
  }
}

/** In this thread hardly anything stays: moved bodies would call the collector fifty times a second. */
const headroom = new GcHeadroom(32 << 20);

function write(options: LogWorkerOptions, tracer: Tracer | null): Handler {
  const { target, dataDir, retentionDays, spoolBytes } = options;
  stepBack();
  headroom.hold();
  const writer = new LogWriter({
    open: () =>
      target.engine === 'sqlite' ? openSqliteSink(target.file, options) : openStore(target, 'writer', options),
    spool: new Spool({
      folder: join(dataDir, 'spool'),
      maxBytes: spoolBytes,
      processId: process.pid,
      now: Date.now,
    }),
    retentionMs: retentionDays === null ? null : retentionDays * DAY_MS,
    now: Date.now,
    report: (outcome) => self.postMessage({ kind: 'outcome', outcome }),
  });
  setTimeout(() => writer.isIdle && giveBackMemory(), QUIET_AFTER_MS).unref();
  let expected: PostedBatch | null = null;

  const accept = (batch: PostedBatch, bodies: PostedBodies | null) => {
    const done = () => {
      if (bodies) release(bodies);
      self.postMessage({ kind: 'stored', number: batch.number });
    };
    const arrived = new ArrivedBatch(batch, bodies);
    // Before it is stored: bodies are given back then.
    if (tracer && batch.traces) tracer.take(arrived, batch.traces);
    writer.accept(arrived, done);
  };

  return (message) => {
    if (typeof message === 'string') {
      const batch = JSON.parse(message) as PostedBatch;
      if (batch.hasBodies) expected = batch;
      else accept(batch, null);
    } else if (message.kind === 'bodies') {
      if (expected) accept(expected, message);
      expected = null;
    } else if (message.kind === 'span') {
      tracer?.add(message.span);
    } else if (message.kind === 'flush') {
      void writer.flush().then(() => self.postMessage({ kind: 'done', number: message.number }));
    } else if (message.kind === 'erase') {
      void reply(message.number, () => writer.erase(message.whose, message.atMost));
    } else if (message.kind === 'recount') {
      void reply(message.number, () => writer.recount(message.isToBegin));
    } else if (message.kind === 'close') {
      void Promise.all([writer.close(), tracer?.close()]).then(() =>
        self.postMessage({ kind: 'done', number: message.number }),
      );
    }
  };
}

async function reply(number: number, work: () => Promise<unknown>) {
  try {
    self.postMessage({ kind: 'answer', number, json: JSON.stringify(await work()) });
  } catch (error) {
    const isAway = error instanceof GatewayError || isStoreAway(error);
    self.postMessage({ kind: 'failed', number, code: isAway ? 'store_unavailable' : null, message: String(error) });
  }
}

/** Lays entries that are exported into files. Each order opens the store anew: there are minutes between them. */
function pack({ target }: LogWorkerOptions): Handler {
  stepBack();
  const withStore = async <Result>(work: (store: LogStore) => Promise<Result>): Promise<Result> => {
    const store = await openStore(target, 'packer');
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  };
  const packed = (order: ShipmentOrder) =>
    withStore(async (store) => {
      const { packShipment } = await import('./shipments/pack.ts');
      const begun = await store.nextShipment(order.atMost);
      return begun && packShipment(begun, order, store);
    });
  return (message) => {
    if (typeof message === 'string') return;
    if (message.kind === 'pack') void reply(message.number, () => packed(message.order));
    else if (message.kind === 'shipped')
      void reply(message.number, () => withStore((store) => store.endShipment(message.name)).then(() => true));
    else if (message.kind === 'close') self.postMessage({ kind: 'done', number: message.number });
  };
}

/** The embedded store takes columns; for other stores, rows are made of them. */
class ArrivedBatch implements LogBatch {
  readonly columns: Columns<Cell>;
  readonly bodies: (PackedBody | null)[];
  #rows: LogRow[] | null = null;

  constructor({ count, columns, parts }: PostedBatch, posted: PostedBodies | null) {
    this.columns = columns;
    this.bodies = posted ? takeApart(parts, posted) : Array(count).fill(null);
  }

  get rows(): LogRow[] {
    this.#rows ??= rowsOf<LogRow>(this.columns, LOG_COLUMNS, this.bodies.length);
    return this.#rows;
  }
}

/** Gives the memory back at once: this thread makes little garbage of its own, so it is seldom collected. */
function release({ slab, moved }: PostedBodies) {
  for (const buffer of [slab, ...moved]) buffer.transfer(0);
}

function takeApart(parts: PostedBatch['parts'], { slab, moved }: PostedBodies): (PackedBody | null)[] {
  let at = 0;
  let next = 0;
  const take = (size: number): Uint8Array => {
    if (size < 0) return new Uint8Array(moved[next++]!);
    at += size;
    return new Uint8Array(slab, at - size, size);
  };
  return parts.map((sizes) => sizes?.map(take) ?? null);
}

function answer({ target }: LogWorkerOptions): Handler {
  let opened: Promise<LogStore> | null = null;
  const open = () => {
    opened ??= openStore(target, 'reader');
    return opened;
  };
  /** The connection may be broken for good: the next question opens a new one. */
  const reopen = () => {
    const broken = opened;
    opened = null;
    void broken?.then((store) => store.close()).catch(() => {});
  };
  const startedAt = performance.now();
  const reply = async (number: number, ask: (store: LogStore) => Promise<unknown>): Promise<void> => {
    const asked = open();
    try {
      self.postMessage({ kind: 'answer', number, json: JSON.stringify(await ask(await asked)) });
    } catch (error) {
      // Another question, asked at the same time, found the connection broken and closed it under this one.
      const isClosed = asked !== opened;
      const isAway = isClosed || isStoreAway(error) || isNotReady(error);
      if (isAway && !isClosed) reopen();
      if (isNotReady(error) && performance.now() - startedAt < READY_WITHIN_MS) {
        await Bun.sleep(ASK_AGAIN_MS);
        return reply(number, ask);
      }
      const code = isAway ? 'store_unavailable' : isTooSlow(error) ? 'analytics_too_slow' : null;
      self.postMessage({ kind: 'failed', number, code, message: String(error) });
    }
  };
  return (message) => {
    if (typeof message === 'string') return;
    if (message.kind === 'list') void reply(message.number, (store) => store.list(message.query));
    else if (message.kind === 'read') void reply(message.number, (store) => store.read(message.reach, message.id));
    else if (message.kind === 'sessions') void reply(message.number, (store) => store.sessions(message.query));
    else if (message.kind === 'session')
      void reply(message.number, (store) => store.session(message.reach, message.id));
    else if (message.kind === 'analyse') {
      const deadline = performance.now() + message.withinMs;
      void reply(message.number, (store) => store.analyse(message.question, deadline));
    } else if (message.kind === 'close') {
      const closing = opened ? opened.then((store) => store.close()).catch(() => {}) : Promise.resolve();
      void closing.then(() => self.postMessage({ kind: 'done', number: message.number }));
    }
  };
}

const isTooSlow = (error: unknown) => error instanceof GatewayError && error.code === 'analytics_too_slow';

/** The tables or some of their columns do not exist yet, because the writer has not reached the store. */
const isNotReady = (error: unknown) =>
  /no such (table|column)/.test(String(error)) ||
  /^(42P01|42703|SQLITE_CANTOPEN)$/.test(String((error as { code?: unknown } | null)?.code));
