import { describeCountedFigures } from '../../../test/telemetry/counted-figures.ts';

/** Longer and further back in `test/long/analytics.test.ts`. */
describeCountedFigures({ seeds: [1], steps: 60, days: 1, hours: 6 });
