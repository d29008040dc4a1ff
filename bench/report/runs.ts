import { type RunsSample, THREAD_LENGTH } from '../measure/runs.ts';
import { median, short, span } from '../numbers.ts';
import { table } from './table.ts';
import { atMost, type Verdict } from './verdict.ts';

const MOST_ADDED_MS = 15;
const MOST_PAGE_MS = 5;

/** The difference is taken in each round: both were measured in turns. */
const added = (samples: readonly RunsSample[]): number[] => samples.map(({ runP50, chatP50 }) => runP50 - chatP50);

const byTool = (samples: readonly RunsSample[]): number[] => samples.map(({ toolP50, plainP50 }) => toolP50 - plainP50);

export function runVerdicts(samples: readonly RunsSample[]): Verdict[] {
  if (samples.length === 0) return [];
  const value = median(added(samples));
  const page = median(samples.map(({ pageP50 }) => pageP50));
  return [
    atMost(MOST_ADDED_MS, { what: 'a one-turn run, beyond a plain chat call, p50', unit: 'ms', value }),
    atMost(MOST_ADDED_MS, {
      ...{ what: 'a response with one tool, beyond a plain one, p50', unit: 'ms', value: median(byTool(samples)) },
    }),
    atMost(MOST_PAGE_MS, { what: `100 of ${short(THREAD_LENGTH)} messages listed, p50`, unit: 'ms', value: page }),
  ];
}

export function runDetails(samples: readonly RunsSample[]): string[] {
  if (samples.length === 0) return [];
  const row = (what: string, values: readonly number[]) => [what, short(median(values)), span(values)];
  return [
    '### Runs of assistants',
    'Embedded store, one call at a time; the model answers at once, and every call is read to its last byte.',
    table(
      ['ms', 'median', 'rounds'],
      [
        row(
          'a streamed chat call, p50',
          samples.map(({ chatP50 }) => chatP50),
        ),
        row(
          'a streamed run that makes such a call, p50',
          samples.map(({ runP50 }) => runP50),
        ),
        row('the difference', added(samples)),
        row(
          'a response, p50',
          samples.map(({ plainP50 }) => plainP50),
        ),
        row(
          'a response whose model searches a file first, p50',
          samples.map(({ toolP50 }) => toolP50),
        ),
        row('what the tool and the second call add', byTool(samples)),
        row(
          'a page of 100 messages, p50',
          samples.map(({ pageP50 }) => pageP50),
        ),
        row(
          'a page of 100 messages, p99',
          samples.map(({ pageP99 }) => pageP99),
        ),
      ],
    ),
  ];
}
