import { describeStops } from '../stopped-commands.ts';

describeStops({ every: 1 });
