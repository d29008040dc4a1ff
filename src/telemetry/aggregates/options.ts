import { DAY_MS, type GrainName } from './grains.ts';

/** What an operator decides about figures. */
export interface FigureOptions {
  /** Keys of metadata by which figures are kept. */
  readonly metadataKeys: readonly string[];
  readonly keepDays: Readonly<Record<'minutes' | 'hours' | 'days', number>>;
}

export const USUAL_FIGURES: FigureOptions = {
  metadataKeys: ['_user'],
  keepDays: { minutes: 3, hours: 400, days: 3_650 },
};

export const keptMs = ({ minutes, hours, days }: FigureOptions['keepDays']): Record<GrainName, number> => ({
  minutes: minutes * DAY_MS,
  fives: minutes * DAY_MS,
  hours: hours * DAY_MS,
  quarters: hours * DAY_MS,
  days: days * DAY_MS,
});
