import { describeRandomFigures } from '../telemetry/random-figures.ts';

describeRandomFigures({ entries: 3_000, oneFilterOf: 1 });
