import type { CallLog, Counted, Outcome, OutgoingTrace, TracedStep } from '../core/call-log.ts';
import type { PriceList, Prices } from '../core/prices.ts';
import { totalTokens } from '../core/usage.ts';
import { AttemptTrail } from './attempts.ts';
import { BodyCapture } from './capture.ts';
import type { KeptBodies } from './kept-bodies.ts';
import type { LogRow } from './log-columns.ts';
import type { Metrics } from './metrics/metrics.ts';
import { BELOW, parentIn, spanBelow, type TraceContext, traceparentOf } from './otel/context.ts';
import { foundMore, type PostedTrace, postedTrace } from './otel/record.ts';
import type { Tracing } from './otel/sampler.ts';
import { type Span, stepSpan } from './otel/span.ts';
import { headText } from './packed-bodies.ts';
import type { Usage } from './record.ts';
import { RedactedJson, redactPath } from './redact.ts';
import { LONGEST_PATH, type StrangerEntries } from './stranger-entries.ts';
import { endsInFailure } from './stream-failure.ts';
import { UpstreamBodies } from './upstream-bodies.ts';
import { decodeForUsage, HEAD_BYTES, isEncoded, type Reading, readUsage } from './usage.ts';

/** Clients choose model names; an index and a metric take only so much. */
const LONGEST_MODEL = 256;
/** Checks answer in lines; what a webhook says can be a book. */
const LONGEST_RESULTS = 64 * 1024;
const LONGEST_WAIT_MS = 15_000;
const TELLS_USAGE = /json|event-stream/;

export interface LogOpening {
  readonly id: string;
  readonly traceId: string;
  readonly method: string;
  /** With its query; values that look like keys are not logged. */
  readonly path: string;
  /** The route's pattern, for metrics. */
  readonly route: string;
  readonly clientAddress: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** The monotonic clock at the same moment. */
  readonly startedMono: number;
  /** What the client sent: `traceparent` and `tracestate` are read where calls are traced. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The gateway itself makes the call, for a run or a batch. */
  readonly isInternal?: boolean;
}

/** What is done with an entry when it has closed. */
export interface Ledger {
  readonly metrics: Metrics;
  readonly prices: Prices;
  readonly now: () => number;
  readonly keepsBodies: boolean;
  readonly capBytes: number;
  readonly searches: (workspaceSlug: string | null) => boolean;
  add(row: LogRow, bodies: KeptBodies | null, trace: PostedTrace | null): void;
  readonly strangers: StrangerEntries;
  /** The same entry once more, with more that guardrails have found. */
  amend(row: LogRow, trace: PostedTrace | null): void;
  later(work: Promise<void>): void;
  /** Takes a closed entry, to be finished together with others. */
  closed(entry: LogEntry): void;
  readonly tracing: Tracing | null;
  addSpan(span: Span): void;
}

const NONE: readonly BodyCapture[] = [];
const requestJson = new RedactedJson();
const responseJson = new RedactedJson();

/**
 * One request to /v1, while it is served. Each part that learns a fact sets it; `close` on the last byte makes the
 * record.
 */
export class LogEntry extends AttemptTrail implements CallLog {
  organisationId: string | null = null;
  workspaceId: string | null = null;
  apiKeyId: string | null = null;
  userId: string | null = null;
  sessionId: string | null = null;
  virtualKey: string | null = null;
  provider: string | null = null;
  model: string | null = null;
  prices: PriceList | null = null;
  metadata: Readonly<Record<string, string>> | null = null;
  isStream = false;
  isCached = false;
  hookResults: unknown = null;
  onCounted: ((counted: Counted) => void) | null = null;
  closesLater = false;
  /** The caller is not known yet: such an entry may be counted instead of stored. */
  isOfStranger = false;
  /** Called when it closes. */
  onClosed: (() => void) | null = null;
  requestHeaders: Readonly<Record<string, string>> | null = null;
  responseHeaders: Readonly<Record<string, string>> | null = null;
  /** Off unless the route says so: the bodies of admin routes hold secrets. */
  keepBodies = false;
  /** Known when the caller counted by itself, as a translator does; otherwise read from the response. */
  usage: Usage | null = null;
  asked: Usage | null = null;
  answeredBy: string | null = null;

  /** For metrics and traces. */
  keyName: string | null = null;
  workspaceSlug: string | null = null;

  readonly #opening: LogOpening;
  readonly #ledger: Ledger;
  #trace: TraceContext | null;
  #link: string | null = null;
  #steps = 0;
  #request: BodyCapture | null = null;
  #response: BodyCapture | null = null;
  #upstream: UpstreamBodies | null = null;
  #firstByteMs: number | null = null;
  #isClosed = false;
  readonly #awaited: Promise<unknown>[] = [];
  #outcome: Outcome = { status: 0 };
  #durationMs = 0;

  constructor(opening: LogOpening, ledger: Ledger, trace: TraceContext | null) {
    super();
    this.#opening = opening;
    this.#ledger = ledger;
    this.#trace = trace;
  }

  protected override get openedAt(): number {
    return this.#opening.startedAt;
  }

  protected override get openedMono(): number {
    return this.#opening.startedMono;
  }

  protected override get priceList(): Prices {
    return this.#ledger.prices;
  }

  protected override readTime(): number {
    return this.#ledger.now();
  }

  get id(): string {
    return this.#opening.id;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  captureRequest(): BodyCapture {
    this.#request ??= new BodyCapture(this.#ledger.capBytes);
    return this.#request;
  }

  captureResponse(): BodyCapture {
    this.#response ??= new BodyCapture(this.#ledger.capBytes);
    return this.#response;
  }

  captureSent(): BodyCapture | null {
    if (!this.keepBodies || !this.#ledger.keepsBodies || this.target === null) return null;
    this.#upstream ??= new UpstreamBodies();
    return this.#upstream.sent(this.target, this.#ledger.capBytes);
  }

  captureReceived(): BodyCapture | null {
    return this.#upstream?.received(this.#ledger.capBytes) ?? null;
  }

  override aims(target: string): void {
    // What one target before was asked is not what this one is asked.
    this.#request = null;
    super.aims(target);
  }

  outgoingTrace(): OutgoingTrace | null {
    const trace = this.#trace;
    if (trace === null || !this.#ledger.tracing?.propagates) return null;
    const spanId = spanBelow(trace.spanId, BELOW.attempt + this.attemptCount);
    return { traceparent: traceparentOf(trace.traceId, spanId, trace.isSampled), tracestate: trace.state };
  }

  callTrace(): OutgoingTrace | null {
    const trace = this.#trace;
    if (trace === null || !this.#ledger.tracing?.propagates) return null;
    return { traceparent: traceparentOf(trace.traceId, trace.spanId, trace.isSampled), tracestate: trace.state };
  }

  continuesTrace({ traceparent, tracestate }: OutgoingTrace): void {
    const { tracing } = this.#ledger;
    const parent = this.attemptCount === 0 ? parentIn(traceparent, tracestate) : null;
    if (!tracing || !this.#trace || !parent) return;
    const { traceId, parentId } = this.#trace;
    if (parentId === parent.spanId) return;
    if (parentId !== null) this.#link = `${traceId}-${parentId}`;
    this.#trace = tracing.begin(this.id, parent);
  }

  didStep(step: TracedStep): void {
    const trace = this.#trace;
    if (trace !== null) this.#ledger.addSpan(stepSpan(trace, BELOW.step + this.#steps++, step));
  }

  awaits(work: Promise<unknown>): void {
    this.#awaited.push(work.catch(() => {}));
  }

  firstByte(): void {
    this.#firstByteMs ??= this.#ledger.now() - this.#opening.startedMono;
  }

  /** The first call counts; a client that hangs up while the last byte leaves may cause a second one. */
  close(closing: Outcome): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#outcome = closing;
    this.#durationMs = this.#ledger.now() - this.#opening.startedMono;
    this.onClosed?.();
    this.onClosed = null;
    this.#ledger.closed(this);
  }

  /** What it holds in memory until it is finished. */
  get keptBytes(): number {
    return (this.#request?.keptBytes ?? 0) + (this.#response?.keptBytes ?? 0) + (this.#upstream?.keptBytes ?? 0);
  }

  /** Reads the usage and makes the record. */
  finish(): void {
    const coding = this.responseHeaders?.['content-encoding'];
    const capture = this.#response;
    if (this.usage || !capture || capture.totalBytes === 0) this.#finish({});
    else if (!isEncoded(coding)) this.#finish(this.#read(capture));
    else this.#ledger.later(this.#decode(coding!, capture).then((reading) => this.#finish(reading)));
  }

  #read(capture: BodyCapture): Reading {
    const head = capture.head(HEAD_BYTES);
    const tail = capture.tail(head.byteLength);
    const contentType = this.responseHeaders?.['content-type'] ?? null;
    const reading = readUsage({ contentType, head, tail });
    if (reading.usage || !tail || capture.truncated || !TELLS_USAGE.test(contentType ?? '')) return reading;
    // Some servers end a stream with an event that has its usage before other, long members.
    const { usage } = readUsage({ contentType, head: capture.head(capture.keptBytes), tail: null });
    return usage ? { ...reading, usage } : reading;
  }

  async #decode(coding: string, capture: BodyCapture): Promise<Reading> {
    const decoded = await decodeForUsage(coding, capture.head(capture.keptBytes));
    if (!decoded) return {};
    return readUsage({ contentType: this.responseHeaders?.['content-type'] ?? null, head: decoded, tail: null });
  }

  #finish(reading: Reading) {
    const { status, failedBy = null, errorCode = null } = this.#judged();
    const durationMs = this.#durationMs;
    const { id, traceId, method, path, route, clientAddress, startedAt } = this.#opening;
    const counted = this.usage ?? reading.usage ?? null;
    // What was asked for was made, unless the call failed.
    const lastUsage = this.asked && status < 400 && this.provider !== null ? { ...counted, ...this.asked } : counted;
    this.usage = lastUsage;
    const answered = reading.model ?? this.answeredBy;
    const model = (this.model ?? answered)?.slice(0, LONGEST_MODEL) ?? null;
    const { provider } = this;
    // The answer names the dated model, which may have a price of its own; the request may use an alias.
    const { metrics, prices } = this.#ledger;
    const lastCost = this.isCached
      ? 0
      : (prices.costOf(provider, answered ?? model, lastUsage, this.prices) ??
        prices.costOf(provider, model, lastUsage, this.prices));
    this.onCounted?.({ usage: lastUsage, cost: lastCost, model: answered });
    this.onCounted = null;
    const { usage, cost } = this.withSpent({ usage: lastUsage, cost: lastCost });
    metrics.closed({
      ...{ route, method, status, failedBy, errorCode, provider, model, usage, cost },
      ...{ workspace: this.workspaceSlug, apiKeyName: this.keyName, virtualKey: this.virtualKey },
      // A user's own id stands where a key's would.
      apiKey: this.apiKeyId === this.userId ? null : this.apiKeyId,
      ...{ startedAt, durationMs, firstByteMs: this.#firstByteMs, isCached: this.isCached },
      traceId: this.#trace?.isSampled ? this.#trace.traceId : traceId,
    });
    const bodies = this.keepBodies && this.#ledger.keepsBodies ? this.#bodies() : null;
    const row: LogRow = {
      id,
      trace_id: traceId,
      created_at: startedAt,
      organisation_id: this.organisationId,
      workspace_id: this.workspaceId,
      api_key_id: this.apiKeyId,
      user_id: this.userId,
      virtual_key: this.virtualKey,
      provider,
      model,
      method,
      path: this.isOfStranger ? redactPath(path).slice(0, LONGEST_PATH) : redactPath(path),
      status,
      failed_by: failedBy,
      error_code: errorCode,
      is_stream: this.isStream,
      request_bytes: this.#request?.totalBytes ?? 0,
      response_bytes: this.#response?.totalBytes ?? 0,
      first_byte_ms: rounded(this.#firstByteMs),
      duration_ms: rounded(durationMs),
      input_tokens: usage?.inputTokens ?? null,
      output_tokens: usage?.outputTokens ?? null,
      total_tokens: totalTokens(usage),
      cached_tokens: usage?.cachedInputTokens ?? null,
      reasoning_tokens: usage?.reasoningTokens ?? null,
      cost,
      client_address: clientAddress,
      metadata: this.metadata && Object.keys(this.metadata).length > 0 ? JSON.stringify(this.metadata) : null,
      hook_results: this.#hookResults(bodies !== null),
      // Strangers have no log in which to look it up.
      session_id: this.workspaceId ? this.sessionId : null,
      attempt_count: this.attemptCount,
      attempts: this.packAttempts({ status, errorCode, usage: lastUsage, cost: lastCost }),
    };
    const trace = this.#trace && this.#postedTrace(this.#trace, answered, usage);
    if (!this.isOfStranger || this.#ledger.strangers.takes(row)) this.#ledger.add(row, bodies, trace);
    if (this.#awaited.length > 0) this.#amendLater(row, bodies !== null, trace);
    // Code that still holds the entry must not keep the bodies in memory.
    this.#request = null;
    this.#response = null;
    this.#upstream = null;
    this.requestHeaders = null;
    this.responseHeaders = null;
  }

  /**
   * A call does not wait for guardrails that only observe, so their findings are added to an entry that is stored
   * already.
   */
  #amendLater(row: LogRow, mayQuote: boolean, trace: PostedTrace | null) {
    const amend = () => {
      const hook_results = this.#hookResults(mayQuote);
      if (hook_results !== row.hook_results)
        this.#ledger.amend({ ...row, hook_results }, trace && foundMore(trace, row.hook_results));
    };
    this.#ledger.later(inTime(Promise.all(this.#awaited)).then(amend));
  }

  #postedTrace(context: TraceContext, answeredBy: string | null | undefined, usage: Usage | null): PostedTrace {
    const { route, isInternal = false } = this.#opening;
    return postedTrace(context, {
      route,
      isInternal,
      keyName: this.keyName,
      workspaceSlug: this.workspaceSlug,
      answeredBy: answeredBy?.slice(0, LONGEST_MODEL) ?? null,
      cacheWriteTokens: usage?.cacheWriteTokens ?? null,
      link: this.#link,
    });
  }

  /** A provider that fails when its answer has begun says so inside its stream. */
  #judged(): Outcome {
    const outcome = this.#outcome;
    const { 'content-type': type = '', 'content-encoding': coding } = this.responseHeaders ?? {};
    if (!this.isStream || outcome.failedBy || isEncoded(coding)) return outcome;
    const tail = this.#response?.tail(0);
    if (!tail || !endsInFailure(type, tail)) return outcome;
    return { ...outcome, failedBy: 'provider', errorCode: 'stream_failed' };
  }

  /** What a check says for the log alone may quote the bodies. */
  #hookResults(mayQuote: boolean): string | null {
    if (this.hookResults === null) return null;
    const text = JSON.stringify(
      this.hookResults,
      mayQuote ? undefined : (key, value) => (key === 'log' ? null : value),
    );
    if (text.length <= LONGEST_RESULTS) return text;
    return JSON.stringify(this.hookResults, (key, value) => (key === 'log' || key === 'data' ? null : value));
  }

  #bodies(): KeptBodies {
    const request = this.#request;
    const response = this.#response;
    const upstream = this.#upstream;
    const requestKept = request?.keptBytes ?? 0;
    const responseKept = response?.keptBytes ?? 0;
    const facts = {
      request_kept: requestKept,
      response_kept: responseKept,
      request_truncated: request?.truncated ?? false,
      response_truncated: response?.truncated ?? false,
      ...(upstream && { upstream: upstream.facts }),
      ...(this.#ledger.searches(this.workspaceSlug) && { is_searched: true as const }),
    };
    const head = headText(
      facts,
      requestJson.of(this.requestHeaders ?? {}),
      responseJson.of(this.responseHeaders ?? {}),
    );
    const bytes = head.bytes + requestKept + responseKept + (upstream?.keptBytes ?? 0);
    return { head, request, response, upstream: upstream?.captures ?? NONE, bytes };
  }
}

/** The awaited work has a deadline of its own; this longer one holds when the work misses it. */
async function inTime(work: Promise<unknown>): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, LONGEST_WAIT_MS);
  await Promise.race([work, late.promise]).finally(() => clearTimeout(timer));
}

/** Microseconds are enough, and short numbers are cheaper to write. */
function rounded(ms: number): number;
function rounded(ms: number | null): number | null;
function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms * 1000) / 1000;
}
