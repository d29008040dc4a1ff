import { labels } from '../contenders.ts';
import { type MemorySample, OPEN_STREAMS } from '../measure/memory.ts';
import type { StartSample } from '../measure/start.ts';
import { median, short, span } from '../numbers.ts';
import { table } from './table.ts';
import { atMost, type Verdict } from './verdict.ts';

export function memoryVerdicts(memory: readonly MemorySample[]): Verdict[] {
  const ours = memory.find((one) => one.name === 'gateway');
  if (!ours) return [];
  const perStream = `memory per open stream, of ${short(OPEN_STREAMS)}`;
  return [
    atMost(70, { what: 'memory, idle', unit: 'MB', value: ours.idleMb }),
    atMost(30, { what: perStream, unit: 'KB', value: ours.perStreamKb }),
    atMost(1.5, {
      what: 'memory a minute after a burst, against idle',
      unit: '×',
      value: ours.afterMinuteMb / ours.idleMb,
      detail: ` (${short(ours.afterMinuteMb)} / ${short(ours.idleMb)} MB)`,
    }),
  ];
}

export function memoryDetails(memory: readonly MemorySample[]): string[] {
  if (memory.length === 0) return [];
  const rows = memory.map(({ name, idleMb, perStreamKb, afterLoadMb, afterMinuteMb }) => [
    labels[name],
    short(idleMb),
    short(perStreamKb),
    afterLoadMb.map(short).join(', '),
    short(afterMinuteMb),
  ]);
  const head = ['', 'idle MB', 'KB per open stream', 'MB after each of three bursts', 'MB a minute later'];
  return ['### Memory', table(head, rows)];
}

export function startVerdicts(start: StartSample | undefined): Verdict[] {
  if (!start) return [];
  return [
    atMost(500, { what: 'start to ready, first start', unit: 'ms', value: median(start.firstMs) }),
    atMost(500, { what: 'start to ready, later starts', unit: 'ms', value: median(start.againMs) }),
  ];
}

export function startDetails(start: StartSample | undefined): string[] {
  if (!start) return [];
  const rows = [
    ['first start, empty data folder', short(median(start.firstMs)), span(start.firstMs)],
    ['later starts', short(median(start.againMs)), span(start.againMs)],
  ];
  return ['### Start to ready', table(['', 'median ms', `${start.firstMs.length} starts`], rows)];
}
