import type { ChunkSample } from './measure/chunks.ts';
import type { CpuSample } from './measure/cpu.ts';
import type { LatencySample } from './measure/latency.ts';
import type { LimitsSample } from './measure/limits.ts';
import type { McpSample } from './measure/mcp.ts';
import type { MemorySample } from './measure/memory.ts';
import type { PathSample } from './measure/paths.ts';
import type { ProcessesSample } from './measure/processes.ts';
import type { RunsSample } from './measure/runs.ts';
import type { SearchSample } from './measure/search.ts';
import type { StartSample } from './measure/start.ts';
import { memoryDetails, memoryVerdicts, startDetails, startVerdicts } from './report/footprint.ts';
import { limitDetails, limitVerdicts } from './report/limits.ts';
import { mcpDetails, mcpVerdicts } from './report/mcp.ts';
import { pathDetails, pathVerdicts } from './report/paths.ts';
import { processDetails, processVerdicts } from './report/processes.ts';
import { runDetails, runVerdicts } from './report/runs.ts';
import { searchDetails, searchVerdicts } from './report/search.ts';
import {
  chunkDetails,
  chunkVerdicts,
  cpuDetails,
  cpuVerdicts,
  latencyDetails,
  latencyVerdicts,
} from './report/side-by-side.ts';
import { table } from './report/table.ts';
import type { Verdict } from './report/verdict.ts';

/** Everything a run measured; sections that were left out are absent or empty. */
export interface Findings {
  readonly cpu?: readonly CpuSample[];
  readonly chunks?: readonly ChunkSample[];
  readonly latency?: readonly LatencySample[];
  readonly memory?: readonly MemorySample[];
  readonly start?: StartSample;
  readonly limits?: readonly LimitsSample[];
  readonly processes?: readonly ProcessesSample[];
  readonly paths?: readonly PathSample[];
  readonly runs?: readonly RunsSample[];
  readonly search?: readonly SearchSample[];
  readonly mcp?: readonly McpSample[];
}

/** The numbers we hold ourselves to, one row each. */
export function verdicts(findings: Findings): Verdict[] {
  const {
    cpu = [],
    chunks = [],
    latency = [],
    memory = [],
    start,
    limits = [],
    processes = [],
    paths = [],
    runs = [],
    search = [],
    mcp = [],
  } = findings;
  return [
    ...cpuVerdicts(cpu),
    ...chunkVerdicts(chunks),
    ...latencyVerdicts(latency),
    ...memoryVerdicts(memory),
    ...startVerdicts(start),
    ...limitVerdicts(limits),
    ...processVerdicts(processes),
    ...pathVerdicts(paths),
    ...runVerdicts(runs),
    ...searchVerdicts(search),
    ...mcpVerdicts(mcp),
  ];
}

export function verdictTable(findings: Findings): string {
  const word = (isMet: boolean | null): string => (isMet === null ? '' : isMet ? 'pass' : 'MISS');
  return table(
    ['what', 'target', 'value', ''],
    verdicts(findings).map(({ what, target, value, isMet }) => [what, target, value, word(isMet)]),
  );
}

/** The measurements behind the verdicts. */
export function details(findings: Findings): string {
  const {
    cpu = [],
    chunks = [],
    latency = [],
    memory = [],
    start,
    limits = [],
    processes = [],
    paths = [],
    runs = [],
    search = [],
    mcp = [],
  } = findings;
  return [
    ...cpuDetails(cpu),
    ...chunkDetails(chunks),
    ...latencyDetails(latency),
    ...memoryDetails(memory),
    ...startDetails(start),
    ...limitDetails(limits),
    ...processDetails(processes),
    ...pathDetails(paths),
    ...runDetails(runs),
    ...searchDetails(search),
    ...mcpDetails(mcp),
  ].join('\n\n');
}
