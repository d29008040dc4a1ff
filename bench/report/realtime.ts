import { OPEN_SOCKETS, type RealtimeSample } from '../measure/realtime.ts';
import { median, short, span } from '../numbers.ts';
import { table } from './table.ts';
import { atMost, type Verdict } from './verdict.ts';

const MOST_TIMES = 2;
const MOST_KB = 40;

const times = (samples: readonly RealtimeSample[]): number[] =>
  samples.map(({ relayedUs, plainUs }) => relayedUs / plainUs);

export function realtimeVerdicts(samples: readonly RealtimeSample[]): Verdict[] {
  if (samples.length === 0) return [];
  return [
    atMost(MOST_TIMES, {
      what: 'CPU of a relayed frame of sound, against a plain relay',
      unit: '×',
      value: median(times(samples)),
    }),
    atMost(MOST_KB, {
      what: `memory of an open conversation in real time, with ${OPEN_SOCKETS} of them`,
      unit: 'KB',
      value: median(samples.map(({ perSocketKb }) => perSocketKb)),
    }),
  ];
}

export function realtimeDetails(samples: readonly RealtimeSample[]): string[] {
  if (samples.length === 0) return [];
  const row = (what: string, values: readonly number[]) => [what, short(median(values)), span(values)];
  const of = (member: keyof RealtimeSample) => samples.map((sample) => sample[member]);
  return [
    '### Conversations in real time',
    'Embedded store, 20 conversations, frames of 6.4 KB both ways, one after the other; then 1,000 that are silent.',
    table(
      ['', 'median', 'rounds'],
      [
        row('CPU of a frame through a plain relay, µs', of('plainUs')),
        row('CPU of a frame through the gateway, µs', of('relayedUs')),
        row('times as much', times(samples)),
        row('memory of an open conversation, KB', of('perSocketKb')),
      ],
    ),
  ];
}
