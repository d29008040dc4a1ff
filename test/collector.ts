// Generated from the official protos by OpenTelemetry, and read by protobufjs: nothing of ours decodes here.
import root from '@opentelemetry/otlp-transformer/build/src/generated/root.js';
import { serve } from './gateway.ts';

export interface ReadSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: number;
  readonly start: bigint;
  readonly end: bigint;
  readonly traceState: string;
  readonly flags: number;
  readonly isError: boolean;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly resource: Readonly<Record<string, unknown>>;
}

export const KINDS = { internal: 1, server: 2, client: 3 } as const;

// biome-ignore lint/suspicious/noExplicitAny: generated code without types
const otlp = (root as any).opentelemetry.proto.collector;
export const TraceRequest = otlp.trace.v1.ExportTraceServiceRequest;
export const TraceResponse = otlp.trace.v1.ExportTraceServiceResponse;
export const MetricsRequest = otlp.metrics.v1.ExportMetricsServiceRequest;
export const LogsRequest = otlp.logs.v1.ExportLogsServiceRequest;

/** Ids as hex and big numbers as texts, as OTLP's JSON has them. */
export const decode = (type: typeof TraceRequest, bytes: Uint8Array) =>
  type.toObject(type.decode(bytes), { longs: String, bytes: Buffer, defaults: false });

// biome-ignore lint/suspicious/noExplicitAny: what was received is looked into
type Received = any;

const hexOf = (id: unknown): string =>
  typeof id === 'string' ? id : Buffer.from((id as Uint8Array) ?? []).toString('hex');

export const attributesIn = (list: readonly Received[] = []): Record<string, unknown> =>
  Object.fromEntries(list.map(({ key, value }) => [key, valueIn(value)]));

function valueIn(value: Received): unknown {
  if (value.arrayValue) return (value.arrayValue.values ?? []).map(valueIn);
  if (value.intValue !== undefined) return Number(value.intValue);
  return value.stringValue ?? value.boolValue ?? value.doubleValue;
}

const spansIn = (request: Received): ReadSpan[] =>
  (request.resourceSpans ?? []).flatMap(({ resource, scopeSpans }: Received) =>
    scopeSpans.flatMap(({ spans }: Received) =>
      spans.map((span: Received) => ({
        ...span,
        traceId: hexOf(span.traceId),
        spanId: hexOf(span.spanId),
        parentSpanId: hexOf(span.parentSpanId),
        start: BigInt(span.startTimeUnixNano),
        end: BigInt(span.endTimeUnixNano),
        traceState: span.traceState ?? '',
        isError: span.status?.code === 2,
        attributes: attributesIn(span.attributes),
        links: (span.links ?? []).map((link: Received) => ({
          traceId: hexOf(link.traceId),
          spanId: hexOf(link.spanId),
        })),
        resource: attributesIn(resource.attributes),
      })),
    ),
  );

interface Taken {
  readonly path: string;
  readonly headers: Headers;
}

/** A destination on loopback that decodes with OpenTelemetry's own library. */
export function startCollector() {
  const spans: ReadSpan[] = [];
  const metrics: Received[] = [];
  const requests: Taken[] = [];
  const answers: (() => Response | Promise<Response>)[] = [];
  let always: (() => Response | Promise<Response>) | null = null;
  const { origin, stop } = serve(async (request) => {
    const path = new URL(request.url).pathname;
    requests.push({ path, headers: request.headers });
    const sent = new Uint8Array(await request.arrayBuffer());
    const other = answers.shift() ?? always;
    if (other) return other();
    const body = request.headers.get('content-encoding') === 'gzip' ? Bun.gunzipSync(sent) : sent;
    const isJson = request.headers.get('content-type') === 'application/json';
    const isTraces = path.endsWith('/traces');
    const read = isJson
      ? JSON.parse(Buffer.from(body).toString())
      : decode(isTraces ? TraceRequest : MetricsRequest, body);
    if (isTraces) spans.push(...spansIn(read));
    else metrics.push(read);
    return new Response(null, { headers: { 'content-type': isJson ? 'application/json' : 'application/x-protobuf' } });
  });
  return {
    origin,
    spans,
    metrics,
    requests,
    /** What is answered to the next requests instead of taking them. */
    answers,
    answerAlways: (answer: typeof always) => {
      always = answer;
    },
    stop,
  };
}

export type Collector = ReturnType<typeof startCollector>;
