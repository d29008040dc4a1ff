import type { TracedStep } from '../../core/call-log.ts';
import { spanBelow, type TraceContext } from './context.ts';
import {
  type Attributes,
  type AttributeValue,
  Double,
  jsonAttributes,
  nanosOf,
  ProtoWriter,
  writeAttributes,
} from './encode.ts';
import type { SharedAttributes } from './shared-attributes.ts';

/** The numbers of OTLP. */
export const KIND = { internal: 1, server: 2, client: 3 } as const;
export const STATUS = { unset: 0, ok: 1, error: 2 } as const;

export interface SpanLink {
  readonly traceId: string;
  readonly spanId: string;
}

/** One span, before it is put into bytes. Times are milliseconds since the epoch, with fractions. */
export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string | null;
  readonly state: string | null;
  readonly isSampled: boolean;
  readonly name: string;
  readonly kind: (typeof KIND)[keyof typeof KIND];
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  readonly isError: boolean;
  /** For people; only errors have one. */
  readonly message?: string | null;
  readonly links?: readonly SpanLink[];
  /** What was said; left out unless the operator wants it. */
  readonly content?: Attributes;
}

/** Bits of `flags`: W3C's byte, and whether the parent is known to be in another process. */
const HAS_IS_REMOTE = 0x100;
const IS_REMOTE = 0x200;

const flagsOf = ({ isSampled, kind, parentId }: SpanHead): number =>
  (isSampled ? 1 : 0) | HAS_IS_REMOTE | (kind === KIND.server && parentId !== null ? IS_REMOTE : 0);

/** A span without what it says. */
export type SpanHead = Omit<Span, 'attributes' | 'shared' | 'content'>;

/** Takes spans as they are told: `begin`, what it says, `end`. Nearly all go into bytes at once, and become no objects. */
export interface SpanSink {
  begin(head: SpanHead): void;
  add(name: string, value: AttributeValue): void;
  /** A number that may be whole and is none. */
  addDouble(name: string, value: number): void;
  addAll(attributes: Attributes): void;
  addShared(shared: SharedAttributes): void;
  end(): void;
}

const ATTRIBUTES = 9;

/** Each a `Span` of `opentelemetry.proto.trace.v1`, without its tag and length. */
export class EncodedSpans implements SpanSink {
  readonly #writer = new ProtoWriter();
  #ends: number[] = [];
  #head: SpanHead | null = null;

  begin(head: SpanHead): void {
    const writer = this.#writer;
    this.#head = head;
    writer.hex(1, head.traceId);
    writer.hex(2, head.spanId);
    if (head.state !== null) writer.text(3, head.state);
    if (head.parentId !== null) writer.hex(4, head.parentId);
    writer.text(5, head.name);
    writer.integer(6, head.kind);
    writer.nanos(7, head.startMs);
    writer.nanos(8, Math.max(head.startMs, head.endMs));
  }

  add(name: string, value: AttributeValue): void {
    this.#writer.attribute(ATTRIBUTES, name, value);
  }

  addDouble(name: string, value: number): void {
    this.#writer.doubleAttribute(ATTRIBUTES, name, value);
  }

  addAll(attributes: Attributes): void {
    writeAttributes(this.#writer, ATTRIBUTES, attributes);
  }

  addShared(shared: SharedAttributes): void {
    this.#writer.raw(shared.encoded(ATTRIBUTES));
  }

  end(): void {
    const writer = this.#writer;
    const head = this.#head!;
    for (const { traceId, spanId } of head.links ?? [])
      writer.message(13, () => {
        writer.hex(1, traceId);
        writer.hex(2, spanId);
      });
    if (head.isError)
      writer.message(15, () => {
        if (head.message) writer.text(2, head.message);
        writer.integer(3, STATUS.error);
      });
    writer.fixed32(16, flagsOf(head));
    this.#ends.push(writer.length);
  }

  /** All in one piece of memory, which goes when the last of them has gone. */
  take(): Uint8Array[] {
    const ends = this.#ends;
    if (ends.length === 0) return [];
    this.#ends = [];
    const all = this.#writer.take();
    return ends.map((end, at) => all.subarray(at === 0 ? 0 : ends[at - 1], end));
  }
}

/** Spans as objects, for those who have to look at them again. */
export class ListedSpans implements SpanSink {
  #spans: Span[] = [];
  #head: SpanHead | null = null;
  #attributes: (readonly [string, AttributeValue])[] = [];

  begin(head: SpanHead): void {
    this.#head = head;
    this.#attributes = [];
  }

  add(name: string, value: AttributeValue): void {
    this.#attributes.push([name, value]);
  }

  addDouble(name: string, value: number): void {
    this.add(name, new Double(value));
  }

  addAll(attributes: Attributes): void {
    this.#attributes.push(...attributes);
  }

  addShared({ list }: SharedAttributes): void {
    this.addAll(list);
  }

  end(): void {
    this.#spans.push({ ...this.#head!, attributes: this.#attributes });
  }

  take(): Span[] {
    const spans = this.#spans;
    this.#spans = [];
    return spans;
  }
}

/** Tells of a span that is an object. */
export function tell(sink: SpanSink, span: Span): void {
  sink.begin(span);
  sink.addAll(span.attributes);
  sink.end();
}

/** The same in OTLP's JSON. */
export const jsonSpan = (span: Span): string =>
  JSON.stringify({
    traceId: span.traceId,
    spanId: span.spanId,
    ...(span.state !== null && { traceState: span.state }),
    ...(span.parentId !== null && { parentSpanId: span.parentId }),
    flags: flagsOf(span),
    name: span.name,
    kind: span.kind,
    startTimeUnixNano: String(nanosOf(span.startMs)),
    endTimeUnixNano: String(nanosOf(Math.max(span.startMs, span.endMs))),
    attributes: jsonAttributes(span.attributes),
    ...(span.links && { links: span.links }),
    status: span.isError
      ? { code: STATUS.error, ...(span.message && { message: span.message }) }
      : { code: STATUS.unset },
  });

/** A step of something that has a span itself. */
export const stepSpan = (
  { traceId, spanId, isSampled, state }: Omit<TraceContext, 'parentId'>,
  number: number,
  { name, startedAt, endedAt, attributes, content }: TracedStep,
): Span => ({
  ...{ traceId, isSampled, state, name },
  spanId: spanBelow(spanId, number),
  parentId: spanId,
  kind: KIND.internal,
  startMs: startedAt,
  endMs: endedAt,
  attributes: Object.entries(attributes),
  isError: 'error.type' in attributes,
  ...(content && { content: Object.entries(content) }),
});
