import { writeSync } from 'node:fs';
import type { Percentiles } from '../numbers.ts';

/** How the bench talks to its generators: one line of JSON in, lines of JSON out, closing the input means stop. */

export interface Target {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface OpenLoopJob {
  readonly arms: readonly (Target & { readonly name: string })[];
  readonly body: string;
  readonly callsPerSecond: number;
  readonly sliceMs: number;
  readonly cycles: number;
  readonly rounds: number;
  /** The proxy runs on another core, so a generator that is late was held up by the machine. */
  readonly isAlone: boolean;
}

/** Two moments of the clock that all processes share, in milliseconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface ArmResult {
  readonly name: string;
  readonly failed: number;
  /** Each call from the time it was due to its last byte. */
  readonly calls: readonly Span[];
}

/** One round. */
export interface OpenLoopResult {
  readonly arms: readonly ArmResult[];
  /** Times in which the machine stood still for reasons of its own. */
  readonly stalls: readonly Span[];
  /** How late the generator itself sent, in milliseconds. */
  readonly lag: Percentiles;
}

export interface StreamsJob extends Target {
  readonly body: string;
  readonly streams: number;
  readonly atOnce: number;
  /** `finish` reads each stream to its end; `hold` opens all, says so, and keeps them until the input closes. */
  readonly mode: 'finish' | 'hold';
}

export interface StreamsResult {
  readonly finished: number;
  readonly failed: number;
  readonly events: number;
  readonly reads: number;
  readonly ms: number;
}

export interface HoldingResult {
  readonly open: number;
  readonly failed: number;
}

export interface BurstJob {
  readonly url: string;
  readonly body: string;
  /** The headers of each. */
  readonly callers: readonly Readonly<Record<string, string>>[];
  /** Of quiet before each time. */
  readonly pauseMs: number;
}

/** When all have begun, and when the last one has its answer. */
export interface BurstResult {
  readonly isBegun: boolean;
  readonly ms: number;
}

export async function readJob<T>(): Promise<{ job: T; inputClosed: Promise<void> }> {
  const lines = console[Symbol.asyncIterator]();
  const first = await lines.next();
  return { job: JSON.parse(first.value) as T, inputClosed: lines.next().then(() => undefined) };
}

/** Now, by the clock that all processes share, as exact as the one that each has for itself. */
export const moment = (): number => performance.timeOrigin + performance.now();

// Not process.stdout: what that has not passed on yet is lost when the process exits.
export function tell(result: object): void {
  const line = Buffer.from(`${JSON.stringify(result)}\n`);
  for (let at = 0; at < line.byteLength; ) at += writeSync(1, line, at);
}
