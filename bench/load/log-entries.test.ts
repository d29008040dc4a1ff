import { testCopiedFigures } from '../../test/telemetry/copied-figures.ts';

/** Of more days in `test/long/analytics.test.ts`. */
testCopiedFigures({ entries: 200, days: 2 });
