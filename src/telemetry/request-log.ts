import { builtInPrices, type Prices } from '../core/prices.ts';
import type { Question, SumsQuestion } from './analytics/question.ts';
import type { Summed } from './analytics/sums.ts';
import { type KeptBodies, pack } from './kept-bodies.ts';
import type { LogRow } from './log-columns.ts';
import { type Ledger, LogEntry, type LogOpening } from './log-entry.ts';
import type { LogWorkerPort } from './log-port.ts';
import type { LogQuery, LogReach } from './log-query.ts';
import type { LogOwner, RecountProgress } from './log-sink.ts';
import type { Metrics } from './metrics/metrics.ts';
import { type ParentContext, parentIn } from './otel/context.ts';
import type { PostedTrace } from './otel/record.ts';
import type { Tracing } from './otel/sampler.ts';
import type { Span } from './otel/span.ts';
import type { SessionQuery } from './sessions/reading.ts';
import type { Shipment, ShipmentOrder } from './shipments/shipment.ts';
import { StrangerEntries } from './stranger-entries.ts';
import { HEAD_BYTES } from './usage.ts';

/** Short, so that the writer works in short bursts: on a busy core a long one would make calls wait. */
const SEND_AFTER_MS = 25;
/** Where fewer wait, they wait longer: a batch costs the writer about as much with ten entries in it as with one. */
const FEW = 10;
const SEND_FEW_AFTER_MS = 100;
const SEND_AT_RECORDS = 256;
/** Few enough that what an entry holds of its call is still in the processor's caches when it is finished. */
const FINISH_AT_RECORDS = 64;
/** Large bodies come in fewer batches for it: what a batch costs whatever is in it is shared by more. */
const SEND_AT_BYTES = 16 * 1024 * 1024;
const MOST_QUEUED_BYTES = 64 * 1024 * 1024;
/** The writer spools long before this; only a writer that hangs lets so much pile up. */
const MOST_QUEUED_RECORDS = 50_000;

export interface RequestLogOptions {
  readonly worker: LogWorkerPort;
  readonly metrics: Metrics;
  readonly prices?: Prices;
  /** Null: calls are not traced. */
  readonly tracing?: Tracing | null;
  /** The monotonic clock, in milliseconds. */
  readonly now?: () => number;
  readonly bodies: {
    readonly enabled: boolean;
    /** The most that is kept of each body. */
    readonly capBytes: number;
    /** Whether those of the workspace with that slug are found by their words. */
    readonly searches?: (workspaceSlug: string | null) => boolean;
  };
}

export interface RequestLog {
  open(opening: LogOpening): LogEntry;
  /** Exports a span that no entry tells of; null: calls are not traced. */
  readonly addSpan: ((span: Span) => void) | null;
  /** A page of entries as JSON text. */
  list(query: LogQuery): Promise<string>;
  /** One entry with its bodies as JSON text; null when it does not exist within reach. */
  read(reach: LogReach, id: string): Promise<string | null>;
  /** A page of sessions as JSON text. */
  sessions(query: SessionQuery): Promise<string>;
  /** The sessions of that id within reach as JSON text: a list. */
  session(reach: LogReach, id: string): Promise<string>;
  /** What entries amount to, as JSON text. */
  analyse(question: Question): Promise<string>;
  /** What calls amount to, by what they are told apart by; for those who watch figures. */
  sums(question: Omit<SumsQuestion, 'kind'>): Promise<readonly Summed[]>;
  /** Removes at most so many entries of one owner, with their bodies, also those that have just closed; says how many. */
  erase(whose: LogOwner, atMost: number): Promise<number>;
  /** Has figures counted anew from the entries there are, when told to; says how far that is. */
  recount(isToBegin: boolean): Promise<RecountProgress>;
  /** Lays the entries that are exported next into files; null: none waits. */
  pack(order: ShipmentOrder): Promise<Shipment | null>;
  /** A shipment is there whole: its entries never leave again. */
  shipped(name: string): Promise<void>;
  /** Resolves when every closed entry is committed or spooled. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

export function createRequestLog({
  worker,
  metrics,
  prices = builtInPrices,
  tracing = null,
  bodies,
  now = () => performance.now(),
}: RequestLogOptions): RequestLog {
  let rows: LogRow[] = [];
  let kept: (KeptBodies | null)[] = [];
  /** As many as rows, where calls are traced. */
  let traces: (PostedTrace | null)[] = [];
  let bytes = 0;
  let closed: LogEntry[] = [];
  let closedBytes = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** When the first of those that wait came. */
  let since = 0;
  const unfinished = new Set<Promise<void>>();

  // Entries are finished many at a time and not each when its call ends: the code that does it is then in the
  // processor's caches, which takes less than half the time.
  const finishClosed = () => {
    const entries = closed;
    closed = [];
    closedBytes = 0;
    for (const entry of entries) entry.finish();
  };

  const send = () => {
    finishClosed();
    clearTimeout(timer);
    timer = undefined;
    if (rows.length === 0) return;
    const batch = { rows, kept, bytes, traces: tracing && traces };
    rows = [];
    kept = [];
    traces = [];
    bytes = 0;
    if (worker.queuedRecords + batch.rows.length > MOST_QUEUED_RECORDS)
      return metrics.logged('dropped', batch.rows.length);
    worker.send({ ...pack(batch.rows, batch.bytes > 0 ? batch.kept : null), traces: batch.traces });
  };

  const sendSoon = () => {
    const waiting = closed.length + rows.length;
    if (timer === undefined) {
      since = now();
      timer = setTimeout(send, SEND_FEW_AFTER_MS);
    } else if (waiting === FEW) {
      clearTimeout(timer);
      timer = setTimeout(send, Math.max(0, since + SEND_AFTER_MS - now()));
    }
  };

  const strangers = new StrangerEntries({
    add: (row) => ledger.add(row, null, null),
    onLeftOut: () => metrics.leftOut('requests'),
  });

  const ledger: Ledger = {
    metrics,
    tracing,
    addSpan: (span) => worker.addSpan(span),
    strangers,
    prices,
    now,
    keepsBodies: bodies.enabled,
    // Without bodies the ends are still needed, for usage.
    capBytes: bodies.enabled ? bodies.capBytes : HEAD_BYTES,
    searches: bodies.searches ?? (() => false),
    closed: (entry) => {
      metrics.ended();
      closed.push(entry);
      closedBytes += entry.keptBytes;
      if (closed.length >= FINISH_AT_RECORDS) finishClosed();
      if (rows.length >= SEND_AT_RECORDS || bytes + closedBytes >= SEND_AT_BYTES) send();
      else sendSoon();
    },
    add: (row, kindred, trace) => {
      const fits = kindred !== null && worker.queuedBytes + bytes + kindred.bytes <= MOST_QUEUED_BYTES;
      if (kindred && !fits) metrics.bodiesDropped(1);
      rows.push(row);
      kept.push(fits ? kindred : null);
      if (tracing) traces.push(trace);
      if (fits) bytes += kindred.bytes;
      // An answer that had to be decoded first comes after its batch has gone.
      sendSoon();
    },
    amend: (row, trace) => {
      // One batch cannot hold an entry twice.
      const at = rows.findLastIndex(({ id }) => id === row.id);
      if (at >= 0) rows[at] = row;
      else ledger.add(row, null, trace);
    },
    later: (work) => {
      unfinished.add(work);
      void work.finally(() => unfinished.delete(work));
    },
  };

  metrics.gauge('gateway_log_queue_records', 'Log records that are neither committed nor spooled yet.', () => {
    return closed.length + rows.length + worker.queuedRecords;
  });

  const flush = async () => {
    finishClosed();
    await Promise.allSettled(unfinished);
    send();
    await worker.flush();
  };

  return {
    open: (opening) => {
      metrics.opened();
      return new LogEntry(opening, ledger, tracing ? tracing.begin(opening.id, parentOf(opening)) : null);
    },
    addSpan: tracing && ((span) => worker.addSpan(span)),
    list: (query) => worker.list(query),
    read: (reach, id) => worker.read(reach, id),
    sessions: (query) => worker.sessions(query),
    session: (reach, id) => worker.session(reach, id),
    analyse: (question) => worker.analyse(question),
    sums: async (question) => JSON.parse(await worker.analyse({ kind: 'sums', ...question })) as Summed[],
    erase: async (whose, atMost) => {
      await flush();
      return worker.erase(whose, atMost);
    },
    recount: (isToBegin) => worker.recount(isToBegin),
    pack: (order) => worker.pack(order),
    shipped: (name) => worker.shipped(name),
    flush,
    close: async () => {
      strangers.flush();
      await flush().catch(() => {});
      await worker.close();
    },
  };
}

/** What the client says of the trace it is in. */
const parentOf = ({ headers }: LogOpening): ParentContext | null =>
  headers ? parentIn(headers.traceparent, headers.tracestate) : null;
