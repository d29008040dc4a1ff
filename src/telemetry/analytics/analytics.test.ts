import { describeRandomFigures } from '../../../test/telemetry/random-figures.ts';

/** With more entries, and every question under every filter, in `test/long/analytics.test.ts`. */
describeRandomFigures({ entries: 1_500, oneFilterOf: 5 });
