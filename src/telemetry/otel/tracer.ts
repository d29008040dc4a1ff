import { hostname } from 'node:os';
import { createEgressPolicy } from '../../http/egress.ts';
import { createUpstream } from '../../http/upstream.ts';
import type { LogRow } from '../log-columns.ts';
import type { PackedBody } from '../packed-bodies.ts';
import { deliver } from './delivery.ts';
import { type Attributes, ProtoWriter } from './encode.ts';
import { envelopeOf, type Speaker } from './envelope.ts';
import { type Exported, Exporter } from './exporter.ts';
import { MetricExporter } from './metric-exporter.ts';
import { GenAiMetrics } from './metrics.ts';
import type { PostedTrace } from './record.ts';
import type { OtelSettings } from './settings.ts';
import { encodeSpan, jsonSpan, type Span } from './span.ts';
import { spansOf } from './spans.ts';

export interface TracerOptions {
  readonly otel: OtelSettings;
  readonly version: string;
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
  readonly #writer = new ProtoWriter();
  readonly #metrics: GenAiMetrics | null;
  readonly #metricExporters: MetricExporter[] = [];

  constructor({ otel, version, report }: TracerOptions) {
    this.#otel = otel;
    const speaker: Speaker = { resource: resourceOf(otel, version), version };
    // The operator's own addresses: a collector beside the gateway is private, and only this policy knows of it.
    const trustedHosts = otel.destinations.map(({ url }) => new URL(url).host);
    const upstream = createUpstream({ egress: createEgressPolicy({ trustedHosts }) });
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
    for (const [at, trace] of traces.entries()) {
      if (!trace) continue;
      // What clients send of their own is no call; a gateway that exports to itself would go round in circles.
      if (rows[at]!.path.startsWith('/v1/otel/')) continue;
      this.#metrics?.record(rows[at]!, trace);
      if (!this.#hasTraces || !this.#keeps(rows[at]!, trace)) continue;
      for (const span of spansOf(rows[at]!, trace, bodies[at] ?? null, this.#otel)) this.#send(span);
    }
  }

  /** A span that was made elsewhere: of a run, of a tool. */
  add(span: Span): void {
    this.#metrics?.recordSpan(span);
    const { keepsErrors, slowMs, hasContent } = this.#otel;
    const isSlow = slowMs !== null && span.endMs - span.startMs >= slowMs;
    if (!span.isSampled && !isSlow && !(keepsErrors && span.isError)) return;
    const attributes = hasContent && span.content ? [...span.attributes, ...span.content] : span.attributes;
    this.#send({ ...span, attributes });
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

  /** Put into bytes once for all destinations of a form. */
  #send(span: Span) {
    const { proto, json } = this.#byForm;
    if (proto.length > 0) {
      const bytes = encodeSpan(this.#writer, span);
      for (const exporter of proto) exporter.add(bytes);
    }
    if (json.length > 0) {
      const text = jsonSpan(span);
      for (const exporter of json) exporter.add(text);
    }
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
