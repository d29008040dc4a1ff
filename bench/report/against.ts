import type { AgainstSample } from '../measure/against.ts';
import { pathLabels, pathNames } from '../measure/paths.ts';
import { median, short, span } from '../numbers.ts';
import { table } from './table.ts';

export function againstDetails(samples: readonly AgainstSample[]): string[] {
  if (samples.length === 0) return [];
  const rows = pathNames.flatMap((path) => {
    const own = samples.filter((one) => one.path === path);
    if (own.length === 0) return [];
    const ratios = own.map((one) => one.own / one.other);
    const [ours, theirs] = [median(own.map((one) => one.own)), median(own.map((one) => one.other))];
    return [[pathLabels[path], short(ours), short(theirs), median(ratios).toFixed(3), span(ratios)]];
  });
  return [
    '### Against another checkout',
    `At saturation, 0.3 KB where nothing else is said, both in turns; medians of ${samples.length / rows.length} starts of both.`,
    table(['µs per call', 'this one', 'the other', 'ratio', 'starts'], rows),
  ];
}
