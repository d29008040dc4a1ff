/** What an attribute of OTLP may hold. */
export type Value = string | number | boolean | null | readonly Value[] | { readonly [name: string]: Value };
export type Said = Readonly<Record<string, Value>>;

export type ReceivedSignal = 'span' | 'log' | 'metric';

/** A span, a log record or a point of a metric, as it was sent. Ids are hex, times nanoseconds since the epoch. */
export interface Received {
  readonly signal: ReceivedSignal;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string;
  readonly name: string;
  /** The number of OTLP. */
  readonly kind: number;
  readonly from: bigint;
  readonly to: bigint;
  readonly isError: boolean;
  readonly attributes: Said;
  readonly resource: Said;
}

/** The bytes are not what their content type says. */
export class Malformed extends Error {}

/** What a client chooses is as long as it likes; a list of lists may be as deep. */
export const DEEPEST_VALUE = 8;
