import type { AgainstSample } from './measure/against.ts';
import type { AnalyticsSample } from './measure/analytics.ts';
import type { ChunkSample } from './measure/chunks.ts';
import type { CpuSample } from './measure/cpu.ts';
import type { FiguresSample } from './measure/figures.ts';
import type { LatencySample } from './measure/latency.ts';
import type { LimitsSample } from './measure/limits.ts';
import type { McpSample } from './measure/mcp.ts';
import type { MemorySample } from './measure/memory.ts';
import type { NeighboursSample } from './measure/neighbours.ts';
import type { PathSample } from './measure/paths.ts';
import type { ProcessesSample } from './measure/processes.ts';
import type { QuietSample } from './measure/quiet.ts';
import type { RealtimeSample } from './measure/realtime.ts';
import type { RunsSample } from './measure/runs.ts';
import type { SearchSample } from './measure/search.ts';
import type { StartSample } from './measure/start.ts';
import type { TracingSample } from './measure/tracing.ts';
import { againstDetails } from './report/against.ts';
import { analyticsDetails, analyticsVerdicts } from './report/analytics.ts';
import { figuresDetails, figuresVerdicts } from './report/figures.ts';
import { memoryDetails, memoryVerdicts, startDetails, startVerdicts } from './report/footprint.ts';
import { limitDetails, limitVerdicts } from './report/limits.ts';
import { mcpDetails, mcpVerdicts } from './report/mcp.ts';
import { neighbourDetails, neighbourVerdicts } from './report/neighbours.ts';
import { pathDetails, pathVerdicts } from './report/paths.ts';
import { processDetails, processVerdicts } from './report/processes.ts';
import { quietDetails, quietVerdicts } from './report/quiet.ts';
import { realtimeDetails, realtimeVerdicts } from './report/realtime.ts';
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
import { tracingDetails, tracingVerdicts } from './report/tracing.ts';
import type { Verdict } from './report/verdict.ts';

/** Everything a run measured; sections that were left out are absent or empty. */
export interface Findings {
  readonly cpu?: readonly CpuSample[];
  readonly chunks?: readonly ChunkSample[];
  readonly latency?: readonly LatencySample[];
  readonly quiet?: readonly QuietSample[];
  readonly memory?: readonly MemorySample[];
  readonly start?: StartSample;
  readonly limits?: readonly LimitsSample[];
  readonly processes?: readonly ProcessesSample[];
  readonly paths?: readonly PathSample[];
  readonly runs?: readonly RunsSample[];
  readonly search?: readonly SearchSample[];
  readonly neighbours?: readonly NeighboursSample[];
  readonly mcp?: readonly McpSample[];
  readonly realtime?: readonly RealtimeSample[];
  readonly tracing?: readonly TracingSample[];
  readonly figures?: readonly FiguresSample[];
  readonly analytics?: readonly AnalyticsSample[];
  readonly against?: readonly AgainstSample[];
}

/** What was measured, held against its targets, and in full. */
function section<Name extends keyof Findings>(
  name: Name,
  judged: (found: NonNullable<Findings[Name]>) => Verdict[],
  shown: (found: NonNullable<Findings[Name]>) => string[],
) {
  return {
    verdicts: ({ [name]: found }: Findings) => (found ? judged(found) : []),
    details: ({ [name]: found }: Findings) => (found ? shown(found) : []),
  };
}

const sections = [
  section('cpu', cpuVerdicts, cpuDetails),
  section('chunks', chunkVerdicts, chunkDetails),
  section('latency', latencyVerdicts, latencyDetails),
  section('quiet', quietVerdicts, quietDetails),
  section('memory', memoryVerdicts, memoryDetails),
  section('start', startVerdicts, startDetails),
  section('limits', limitVerdicts, limitDetails),
  section('processes', processVerdicts, processDetails),
  section('paths', pathVerdicts, pathDetails),
  section('runs', runVerdicts, runDetails),
  section('search', searchVerdicts, searchDetails),
  section('neighbours', neighbourVerdicts, neighbourDetails),
  section('mcp', mcpVerdicts, mcpDetails),
  section('realtime', realtimeVerdicts, realtimeDetails),
  section('tracing', tracingVerdicts, tracingDetails),
  section('figures', figuresVerdicts, figuresDetails),
  section('analytics', analyticsVerdicts, analyticsDetails),
  section('against', () => [], againstDetails),
];

/** The numbers we hold ourselves to, one row each. */
export const verdicts = (findings: Findings): Verdict[] => sections.flatMap((each) => each.verdicts(findings));

export function verdictTable(findings: Findings): string {
  const word = (isMet: boolean | null): string => (isMet === null ? '' : isMet ? 'pass' : 'MISS');
  return table(
    ['what', 'target', 'value', ''],
    verdicts(findings).map(({ what, target, value, isMet }) => [what, target, value, word(isMet)]),
  );
}

/** The measurements behind the verdicts. */
export const details = (findings: Findings): string => sections.flatMap((each) => each.details(findings)).join('\n\n');
