import { fail } from '../../core/errors.ts';
import { TIME_FORM, time, timeOf } from '../log-filters.ts';
import { LONGEST_DAYS, LONGEST_RANGE_MS, type TimeRange } from './time-range.ts';

/** Moments beyond this have no date. */
const LAST_MOMENT = 8e15;
const moment = () => time().refine((text) => timeOf(text) <= LAST_MOMENT, TIME_FORM);

/** The time that figures are asked for. */
export const rangeFields = () => ({
  time_of_generation_min: moment().describe('From this moment on: ISO 8601 or epoch.'),
  time_of_generation_max: moment().describe(`Before this moment, at most ${LONGEST_DAYS} days later.`),
});

export function rangeOf(query: { time_of_generation_min: string; time_of_generation_max: string }): TimeRange {
  const [from, until] = [timeOf(query.time_of_generation_min), timeOf(query.time_of_generation_max)];
  const refuse = (why: string) => fail('invalid_request', 'time_of_generation_max', why);
  if (until <= from) refuse('must lie behind time_of_generation_min');
  if (until - from > LONGEST_RANGE_MS) refuse(`must lie at most ${LONGEST_DAYS} days behind time_of_generation_min`);
  return { from, until };
}
