import type { TracedStep } from '../../core/call-log.ts';
import { spanBelow, type TraceContext } from './context.ts';
import { type Attributes, jsonAttributes, nanosOf, type ProtoWriter, writeAttributes } from './encode.ts';

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

const flagsOf = ({ isSampled, kind, parentId }: Span): number =>
  (isSampled ? 1 : 0) | HAS_IS_REMOTE | (kind === KIND.server && parentId !== null ? IS_REMOTE : 0);

/** One `Span` of `opentelemetry.proto.trace.v1`, without its tag and length. */
export function encodeSpan(writer: ProtoWriter, span: Span): Uint8Array {
  writer.hex(1, span.traceId);
  writer.hex(2, span.spanId);
  if (span.state !== null) writer.text(3, span.state);
  if (span.parentId !== null) writer.hex(4, span.parentId);
  writer.text(5, span.name);
  writer.integer(6, span.kind);
  writer.fixed64(7, nanosOf(span.startMs));
  writer.fixed64(8, nanosOf(Math.max(span.startMs, span.endMs)));
  writeAttributes(writer, 9, span.attributes);
  for (const { traceId, spanId } of span.links ?? [])
    writer.message(13, () => {
      writer.hex(1, traceId);
      writer.hex(2, spanId);
    });
  if (span.isError)
    writer.message(15, () => {
      if (span.message) writer.text(2, span.message);
      writer.integer(3, STATUS.error);
    });
  writer.fixed32(16, flagsOf(span));
  return writer.take();
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
