import { type Attributes, jsonAttributes, ProtoWriter, writeAttributes } from './encode.ts';
import { SCHEMA_URL, SCOPE } from './names.ts';
import type { Protocol, Signal } from './settings.ts';

/** Who speaks: written once, sent with every request. */
export interface Speaker {
  readonly resource: Attributes;
  readonly version: string;
}

/** Something in the form of its destination: bytes of Protocol Buffers, or JSON. */
export type Encoded = Uint8Array | string;

/** Puts spans or metrics of one resource into one request. */
export type Envelope = (items: readonly Encoded[]) => Uint8Array;

const JSON_NAMES: Readonly<Record<Signal, readonly [string, string, string]>> = {
  traces: ['resourceSpans', 'scopeSpans', 'spans'],
  metrics: ['resourceMetrics', 'scopeMetrics', 'metrics'],
};

export const envelopeOf = (protocol: Protocol, signal: Signal, speaker: Speaker): Envelope =>
  protocol === 'http/json' ? jsonEnvelope(signal, speaker) : protoEnvelope(speaker);

/** Both signals are built alike: a resource, a scope, and the items, under the same numbers. */
function protoEnvelope({ resource, version }: Speaker): Envelope {
  const writer = new ProtoWriter();
  writeAttributes(writer, 1, resource);
  const resourceBytes = writer.take();
  writer.text(1, SCOPE);
  writer.text(2, version);
  const scope = writer.take();
  return (items) => {
    writer.message(1, () => {
      writer.bytes(1, resourceBytes);
      writer.message(2, () => {
        writer.bytes(1, scope);
        for (const item of items) writer.bytes(2, item as Uint8Array);
        writer.text(3, SCHEMA_URL);
      });
      writer.text(3, SCHEMA_URL);
    });
    return writer.take();
  };
}

function jsonEnvelope(signal: Signal, { resource, version }: Speaker): Envelope {
  const [outer, inner, list] = JSON_NAMES[signal];
  const schema = JSON.stringify(SCHEMA_URL);
  const head = `{"${outer}":[{"resource":${JSON.stringify({ attributes: jsonAttributes(resource) })},"${inner}":[{"scope":${JSON.stringify({ name: SCOPE, version })},"${list}":[`;
  const tail = `],"schemaUrl":${schema}}],"schemaUrl":${schema}}]}`;
  return (items) => Buffer.from(head + items.join(',') + tail);
}
