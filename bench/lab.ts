import type { ContenderName } from './contenders.ts';
import type { Processes } from './processes.ts';
import type { Tools } from './tools.ts';
import type { Upstream } from './upstream/start.ts';

/** The place of a run: what is there, where things run, how long they run. */
export interface Lab {
  readonly processes: Processes;
  readonly tools: Tools;
  readonly folder: string;
  /** What starts the gateway under test, and the folder it is started in. */
  readonly gateway: { readonly entry: string; readonly root: string };
  readonly upstream: Upstream;
  readonly cores: Cores;
  readonly lengths: Lengths;
  readonly say: (line: string) => void;
  /** Remarks that belong beside the numbers. */
  readonly note: (remark: string) => void;
}

/** A core for each part; undefined where nothing is pinned. */
export interface Cores {
  readonly proxy: number | undefined;
  readonly upstream: number | undefined;
  readonly load: number | undefined;
  /** PostgreSQL and Redis. */
  readonly stores: number | undefined;
}

export interface Lengths {
  readonly rounds: number;
  /** Until a just-in-time compiler has settled. */
  readonly warmUpMs: Readonly<Record<ContenderName, number>>;
  /** Each turn of `cpu` and `limits`, and how many of them make a round. */
  readonly saturationMs: number;
  readonly saturationTurns: number;
  readonly limitsTurns: number;
  readonly pathTurns: number;
  readonly streams: number;
  readonly latencySliceMs: number;
  readonly latencyCycles: number;
  readonly settleMs: number;
  readonly starts: number;
  /** Each measurement of `processes` and `paths`, and the load before the first of them. */
  readonly sliceMs: number;
  readonly sliceWarmUpMs: number;
  readonly sliceStreams: number;
  /** How long the log is in `analytics`, each time. */
  readonly logEntries: readonly number[];
  /** How many chunks there are in `neighbours`, each time. */
  readonly neighbourChunks: readonly number[];
}

export const FULL: Lengths = {
  rounds: 3,
  warmUpMs: { nginx: 1_000, bare: 30_000, gateway: 60_000, portkey: 60_000 },
  saturationMs: 2_000,
  saturationTurns: 5,
  limitsTurns: 4,
  pathTurns: 3,
  streams: 150,
  latencySliceMs: 500,
  latencyCycles: 10,
  settleMs: 3_000,
  starts: 9,
  sliceMs: 2_000,
  sliceWarmUpMs: 8_000,
  sliceStreams: 300,
  logEntries: [100_000, 1_000_000, 10_000_000],
  neighbourChunks: [100_000, 1_000_000],
};

export const QUICK: Lengths = {
  rounds: 3,
  warmUpMs: { nginx: 1_000, bare: 2_000, gateway: 2_000, portkey: 3_000 },
  saturationMs: 1_000,
  saturationTurns: 1,
  limitsTurns: 1,
  pathTurns: 1,
  streams: 50,
  latencySliceMs: 350,
  latencyCycles: 2,
  settleMs: 1_000,
  starts: 5,
  sliceMs: 1_000,
  sliceWarmUpMs: 1_000,
  sliceStreams: 100,
  logEntries: [100_000],
  neighbourChunks: [20_000],
};

export const UNPINNED: Cores = { proxy: undefined, upstream: undefined, load: undefined, stores: undefined };

export function chooseCores(canPin: boolean, count = navigator.hardwareConcurrency): Cores {
  if (!canPin || count < 2) return UNPINNED;
  return { proxy: 0, upstream: 1, load: count > 2 ? 2 : 1, stores: count > 3 ? 3 : 1 };
}

export const sizes = [
  { label: '0.3 KB', bytes: 300 },
  { label: '60 KB', bytes: 60 * 1024 },
] as const;
export type SizeLabel = (typeof sizes)[number]['label'];
