import { hostname } from 'node:os';
import { createEgressPolicy } from '../../http/egress.ts';
import { type PostedProxy, receivedProxy } from '../../http/proxy.ts';
import { createUpstream } from '../../http/upstream.ts';
import type { LogRow } from '../log-columns.ts';
import type { PackedBody } from '../packed-bodies.ts';
import { deliver } from './delivery.ts';
import type { Attributes } from './encode.ts';
import { envelopeOf, type Speaker } from './envelope.ts';
import { type Exported, Exporter } from './exporter.ts';
import { MetricExporter } from './metric-exporter.ts';
import { GenAiMetrics } from './metrics.ts';
import type { PostedTrace } from './record.ts';
import type { OtelSettings } from './settings.ts';
import { EncodedSpans, jsonSpan, ListedSpans, type Span, type SpanSink, tell } from './span.ts';
import { addSpans } from './spans.ts';

export interface TracerOptions {
  readonly otel: OtelSettings;
  readonly version: string;
  /** The operator's proxy, as plain data: it came from another thread. */
  readonly proxy?: PostedProxy | null;
  readonly report: (exported: Exported) => void;
}

/** Entries as they come to the log's thread. */
export interface TracedBatch {
  readonly rows: readonly LogRow[];
  readonly bodies: readonly (PackedBody | null)[];
}

const CLOSE_WITHIN_MS = 3_000;

/** Makes spans of log entries, in the thread of the log, and sends them. */
export class Tracer {
  readonly #otel: OtelSettings;
  readonly #byForm: { proto: Exporter[]; json: Exporter[] } = { proto: [], json: [] };
  readonly #encoded = new EncodedSpans();
  readonly #listed = new ListedSpans();
  readonly #metrics: GenAiMetrics | null;
  readonly #metricExporters: MetricExporter[] = [];

  constructor({ otel, version, proxy, report }: TracerOptions) {
    this.#otel = otel;
    const speaker: Speaker = { resource: resourceOf(otel, version), version };
    // The operator's own addresses: a collector beside the gateway is private, and only this policy knows of it.
    const trustedHosts = otel.destinations.map(({ url }) => new URL(url).host);
    const upstream = createUpstream({ egress: createEgressPolicy({ trustedHosts, proxy: receivedProxy(proxy) }) });
    const { queueSize, batchSize, delayMs } = otel;
    const isMeasured = otel.destinations.some(({ signal }) => signal === 'metrics');
    const metrics = isMeasured ? new GenAiMetrics(otel.semconv) : null;
    this.#metrics = metrics;
    for (const destination of otel.destinations) {
      const { name, protocol, signal } = destination;
      if (signal === 'metrics') {
        const exporter = new MetricExporter({
          ...{ name, report },
          isJson: protocol === 'http/json',
          envelope: envelopeOf(protocol, signal, speaker),
          deliver: (body) => deliver(upstream, destination, body),
          instruments: () => metrics?.instruments ?? [],
          everyMs: otel.metricsEveryMs,
        });
        this.#metricExporters.push(exporter);
        continue;
      }
      const exporter = new Exporter({
        ...{ name, queueSize, batchSize, delayMs, report },
        envelope: envelopeOf(protocol, 'traces', speaker),
        deliver: (body) => deliver(upstream, destination, body),
      });
      this.#byForm[protocol === 'http/json' ? 'json' : 'proto'].push(exporter);
    }
  }

  take({ rows, bodies }: TracedBatch, traces: readonly (PostedTrace | null)[]): void {
    for (let at = 0; at < traces.length; at++) {
      const trace = traces[at];
      if (!trace) continue;
      const row = rows[at]!;
      // What clients send of their own is no call; a gateway that exports to itself would go round in circles.
      if (row.path.startsWith('/v1/otel/')) continue;
      this.#metrics?.record(row, trace);
      if (this.#hasTraces && this.#keeps(row, trace)) addSpans(this.#sink, row, trace, bodies[at] ?? null, this.#otel);
    }
    this.#send();
  }

  /** A span that was made elsewhere: of a run, of a tool. */
  add(span: Span): void {
    this.#metrics?.recordSpan(span);
    const { keepsErrors, slowMs, hasContent } = this.#otel;
    const isSlow = slowMs !== null && span.endMs - span.startMs >= slowMs;
    if (!span.isSampled && !isSlow && !(keepsErrors && span.isError)) return;
    const attributes = hasContent && span.content ? [...span.attributes, ...span.content] : span.attributes;
    tell(this.#sink, { ...span, attributes });
    this.#send();
  }

  async close(): Promise<void> {
    const all = [...this.#byForm.proto, ...this.#byForm.json, ...this.#metricExporters];
    await Promise.all(all.map((each) => each.close(CLOSE_WITHIN_MS)));
  }

  get #hasTraces(): boolean {
    return this.#byForm.proto.length + this.#byForm.json.length > 0;
  }

  #keeps({ status, failed_by, duration_ms }: LogRow, trace: PostedTrace): boolean {
    const { keepsErrors, slowMs } = this.#otel;
    if (trace[3] === 1) return true;
    if (keepsErrors && (status >= 400 || failed_by !== null)) return true;
    return slowMs !== null && duration_ms >= slowMs;
  }

  /** Straight into bytes, unless some destination wants them in another form. */
  get #sink(): SpanSink {
    return this.#byForm.json.length === 0 ? this.#encoded : this.#listed;
  }

  /** Put into bytes once for all destinations of a form. */
  #send() {
    const { proto, json } = this.#byForm;
    const spans = this.#listed.take();
    for (const text of spans.map(jsonSpan)) for (const exporter of json) exporter.add(text);
    if (proto.length === 0) return;
    for (const span of spans) tell(this.#encoded, span);
    for (const bytes of this.#encoded.take()) for (const exporter of proto) exporter.add(bytes);
  }
}

function resourceOf({ serviceName, resource }: OtelSettings, version: string): Attributes {
  const said: Record<string, string> = {
    'service.version': version,
    'service.instance.id': `${hostname()}:${process.pid}`,
    'host.name': hostname(),
    'telemetry.sdk.name': 'gateway',
    'telemetry.sdk.language': 'nodejs',
    'telemetry.sdk.version': version,
    ...resource,
  };
  // What the variable of its own says stands before what the list says, as OpenTelemetry has it.
  return Object.entries({ ...said, 'service.name': serviceName });
}

export const openTracer = (options: TracerOptions): Tracer => new Tracer(options);
