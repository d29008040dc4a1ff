import { doubleOf, type Field, fieldsIn, hexOf, signedOf, textOf } from './proto-reader.ts';
import { DEEPEST_VALUE, Malformed, type Received, type Said, type Value } from './received.ts';

type Signal = 'traces' | 'logs' | 'metrics';
type Parts = Omit<Received, 'resource' | 'signal'>;

/** Resource, scope and items stand under the same numbers in all three requests. */
export function* receivedInProto(bytes: Uint8Array, signal: Signal): Generator<Received> {
  for (const group of fieldsIn(bytes)) {
    if (group.number !== 1) continue;
    const fields = [...fieldsIn(group.bytes)];
    const resource = attributesIn(
      fields.filter(({ number }) => number === 1).flatMap(({ bytes: of }) => [...fieldsIn(of)]),
      1,
    );
    for (const scope of fields) {
      if (scope.number !== 2) continue;
      for (const item of fieldsIn(scope.bytes)) {
        if (item.number !== 2) continue;
        if (signal === 'traces') yield { ...spanIn(item.bytes), signal: 'span', resource };
        else if (signal === 'logs') yield { ...logIn(item.bytes), signal: 'log', resource };
        else for (const point of pointsIn(item.bytes)) yield { ...point, signal: 'metric', resource };
      }
    }
  }
}

function attributesIn(fields: Iterable<Field>, under: number): Said {
  const said: Record<string, Value> = {};
  for (const { number, bytes } of fields) if (number === under) addPair(said, bytes, 0);
  return said;
}

function addPair(said: Record<string, Value>, bytes: Uint8Array, depth: number): void {
  let key = '';
  let value: Value = null;
  for (const field of fieldsIn(bytes)) {
    if (field.number === 1) key = textOf(field.bytes);
    if (field.number === 2) value = valueIn(field.bytes, depth);
  }
  Object.defineProperty(said, key, { value, enumerable: true, configurable: true, writable: true });
}

function valueIn(bytes: Uint8Array, depth: number): Value {
  if (depth > DEEPEST_VALUE) throw new Malformed('values are nested too deeply');
  let value: Value = null;
  for (const { number, bits, bytes: inner } of fieldsIn(bytes)) {
    if (number === 1) value = textOf(inner);
    else if (number === 2) value = bits !== 0n;
    else if (number === 3) value = signedOf(bits);
    else if (number === 4) value = doubleOf(bits);
    else if (number === 5)
      value = [...fieldsIn(inner)].filter((each) => each.number === 1).map((each) => valueIn(each.bytes, depth + 1));
    else if (number === 6) {
      const said: Record<string, Value> = {};
      for (const each of fieldsIn(inner)) if (each.number === 1) addPair(said, each.bytes, depth + 1);
      value = said;
    } else if (number === 7) value = Buffer.from(inner).toString('base64');
  }
  return value;
}

const ERROR = 2n;

function spanIn(bytes: Uint8Array): Parts {
  const span = { traceId: '', spanId: '', parentId: '', name: '', kind: 0, from: 0n, to: 0n, isError: false };
  const attributes: Record<string, Value> = {};
  for (const { number, bits, bytes: inner } of fieldsIn(bytes)) {
    if (number === 1) span.traceId = hexOf(inner);
    else if (number === 2) span.spanId = hexOf(inner);
    else if (number === 4) span.parentId = hexOf(inner);
    else if (number === 5) span.name = textOf(inner);
    else if (number === 6) span.kind = Number(bits);
    else if (number === 7) span.from = bits;
    else if (number === 8) span.to = bits;
    else if (number === 9) addPair(attributes, inner, 0);
    else if (number === 15)
      span.isError = [...fieldsIn(inner)].some((each) => each.number === 3 && each.bits === ERROR);
  }
  return { ...span, attributes };
}

/** From 17 on OpenTelemetry calls it an error. */
export const ERROR_SEVERITY = 17;

function logIn(bytes: Uint8Array): Parts {
  const log = { traceId: '', spanId: '', parentId: '', name: '', kind: 0, from: 0n, to: 0n, isError: false };
  const attributes: Record<string, Value> = {};
  let observed = 0n;
  let body: Value = null;
  for (const { number, bits, bytes: inner } of fieldsIn(bytes)) {
    if (number === 1) log.from = bits;
    else if (number === 11) observed = bits;
    else if (number === 2) log.isError = bits >= ERROR_SEVERITY;
    else if (number === 5) body = valueIn(inner, 0);
    else if (number === 6) addPair(attributes, inner, 0);
    else if (number === 9) log.traceId = hexOf(inner);
    else if (number === 10) log.parentId = hexOf(inner);
    else if (number === 12) log.name = textOf(inner);
  }
  const from = log.from === 0n ? observed : log.from;
  return { ...log, from, to: from, ...named(log.name, body, attributes) };
}

/** A log record is known by its event; without one by what it says. */
export function named(name: string, body: Value, attributes: Said): Pick<Parts, 'name' | 'attributes'> {
  const event = attributes['event.name'];
  return {
    name: name || (typeof event === 'string' ? event : typeof body === 'string' ? body.slice(0, 256) : '') || 'log',
    attributes: body === null ? attributes : { ...attributes, body },
  };
}

/** Where each kind of metric has the attributes of its points: gauge, sum, histogram, exponential histogram, summary. */
const POINT_ATTRIBUTES: Readonly<Record<number, number>> = { 5: 7, 7: 7, 9: 9, 10: 1, 11: 7 };

function* pointsIn(bytes: Uint8Array): Generator<Parts> {
  const fields = [...fieldsIn(bytes)];
  const name = textOf(fields.find(({ number }) => number === 1)?.bytes ?? new Uint8Array());
  const unit = textOf(fields.find(({ number }) => number === 3)?.bytes ?? new Uint8Array());
  for (const data of fields) {
    const under = POINT_ATTRIBUTES[data.number];
    if (under === undefined) continue;
    for (const point of fieldsIn(data.bytes))
      if (point.number === 1) yield pointIn(point.bytes, { name, unit, under, kind: data.number });
  }
}

function pointIn(
  bytes: Uint8Array,
  { name, unit, under, kind }: { name: string; unit: string; under: number; kind: number },
): Parts {
  const attributes: Record<string, Value> = {};
  const isNumber = kind === 5 || kind === 7;
  let time = 0n;
  const measured: Record<string, Value> = {};
  for (const { number, bits, bytes: inner } of fieldsIn(bytes)) {
    if (number === under) addPair(attributes, inner, 0);
    else if (number === 3) time = bits;
    else if (number === 4) measured[isNumber ? 'value' : 'count'] = isNumber ? doubleOf(bits) : Number(bits);
    else if (number === 6 && isNumber) measured.value = signedOf(bits);
    else if (number === 5 && !isNumber) measured.sum = doubleOf(bits);
  }
  return point({ name, unit, time, attributes, measured });
}

export const point = (given: {
  name: string;
  unit: string;
  time: bigint;
  attributes: Said;
  measured: Said;
}): Parts => ({
  ...{ traceId: '', spanId: '', parentId: '', kind: 0, isError: false },
  name: given.name,
  from: given.time,
  to: given.time,
  attributes: { ...given.attributes, ...(given.unit !== '' && { unit: given.unit }), ...given.measured },
});
