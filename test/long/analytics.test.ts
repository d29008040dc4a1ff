import { testCopiedFigures } from '../telemetry/copied-figures.ts';
import { describeCountedFigures } from '../telemetry/counted-figures.ts';
import { describeRandomFigures } from '../telemetry/random-figures.ts';

describeRandomFigures({ entries: 3_000, oneFilterOf: 1 });
describeCountedFigures({ seeds: [1, 2, 3], steps: 90, days: 3, hours: 30 });
testCopiedFigures({ entries: 600, days: 3 });
