import { ERROR_SEVERITY, named, point } from './read-proto.ts';
import { DEEPEST_VALUE, Malformed, type Received, type Said, type Value } from './received.ts';

type Signal = 'traces' | 'logs' | 'metrics';
type Json = Readonly<Record<string, unknown>>;

const objectOf = (value: unknown): Json =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Json) : {};
const listOf = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.map(objectOf) : []);
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Numbers of 64 bits are texts in OTLP's JSON; some clients write them as numbers. */
function bitsOf(value: unknown): bigint {
  if (typeof value === 'string' && /^\d{1,20}$/.test(value)) return BigInt.asUintN(64, BigInt(value));
  return typeof value === 'number' && Number.isSafeInteger(Math.trunc(value)) && value >= 0
    ? BigInt(Math.trunc(value))
    : 0n;
}

const NAMES = {
  traces: ['resourceSpans', 'scopeSpans', 'spans'],
  logs: ['resourceLogs', 'scopeLogs', 'logRecords'],
  metrics: ['resourceMetrics', 'scopeMetrics', 'metrics'],
} as const;

export function* receivedInJson(request: unknown, signal: Signal): Generator<Received> {
  const [outer, inner, list] = NAMES[signal];
  const groups = objectOf(request)[outer];
  if (!Array.isArray(groups)) throw new Malformed(`${outer} is missing; give a list`);
  for (const group of listOf(groups)) {
    const resource = attributesOf(objectOf(group.resource).attributes);
    for (const scope of listOf(group[inner]))
      for (const item of listOf(scope[list])) {
        if (signal === 'traces') yield { ...spanOf(item), signal: 'span', resource };
        else if (signal === 'logs') yield { ...logOf(item), signal: 'log', resource };
        else for (const each of pointsOf(item)) yield { ...each, signal: 'metric', resource };
      }
  }
}

function attributesOf(list: unknown): Said {
  const said: Record<string, Value> = {};
  for (const { key, value } of listOf(list))
    Object.defineProperty(said, textOf(key), {
      value: valueFrom(value, 0),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  return said;
}

function valueFrom(given: unknown, depth: number): Value {
  if (depth > DEEPEST_VALUE) throw new Malformed('values are nested too deeply');
  const value = objectOf(given);
  if (typeof value.stringValue === 'string') return value.stringValue;
  if (typeof value.boolValue === 'boolean') return value.boolValue;
  if (value.intValue !== undefined) return Number(value.intValue);
  if (typeof value.doubleValue === 'number') return value.doubleValue;
  if (value.arrayValue !== undefined)
    return listOf(objectOf(value.arrayValue).values).map((each) => valueFrom(each, depth + 1));
  if (value.kvlistValue !== undefined) {
    const said: Record<string, Value> = {};
    for (const pair of listOf(objectOf(value.kvlistValue).values))
      Object.defineProperty(said, textOf(pair.key), {
        value: valueFrom(pair.value, depth + 1),
        enumerable: true,
        configurable: true,
      });
    return said;
  }
  return typeof value.bytesValue === 'string' ? value.bytesValue : null;
}

const spanOf = (span: Json) => ({
  traceId: textOf(span.traceId).toLowerCase(),
  spanId: textOf(span.spanId).toLowerCase(),
  parentId: textOf(span.parentSpanId).toLowerCase(),
  name: textOf(span.name),
  kind: Number(span.kind) || 0,
  from: bitsOf(span.startTimeUnixNano),
  to: bitsOf(span.endTimeUnixNano),
  isError: objectOf(span.status).code === 2,
  attributes: attributesOf(span.attributes),
});

function logOf(log: Json) {
  const from = bitsOf(log.timeUnixNano) || bitsOf(log.observedTimeUnixNano);
  const body = log.body === undefined ? null : valueFrom(log.body, 0);
  return {
    traceId: textOf(log.traceId).toLowerCase(),
    spanId: '',
    parentId: textOf(log.spanId).toLowerCase(),
    kind: 0,
    from,
    to: from,
    isError: Number(log.severityNumber) >= ERROR_SEVERITY,
    ...named(textOf(log.eventName), body, attributesOf(log.attributes)),
  };
}

function* pointsOf(metric: Json) {
  const name = textOf(metric.name);
  const unit = textOf(metric.unit);
  for (const kind of ['gauge', 'sum', 'histogram', 'exponentialHistogram', 'summary'])
    for (const each of listOf(objectOf(metric[kind]).dataPoints)) {
      const value = each.asDouble ?? each.asInt;
      const measured: Said =
        value === undefined ? { count: Number(each.count) || 0, sum: Number(each.sum) || 0 } : { value: Number(value) };
      yield point({ name, unit, time: bitsOf(each.timeUnixNano), attributes: attributesOf(each.attributes), measured });
    }
}
