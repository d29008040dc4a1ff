const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800, y: 31_557_600 };
/** "90", "12h", "2 hours", "1.5 days". */
const WORDS =
  /^(\d{1,9}(?:\.\d{1,9})?) ?(s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?|y|yrs?|years?)?$/i;
/** ISO 8601: PT1H, P1DT12H, P2W, PT0.5H. */
const ISO =
  /^P(?!$)(?:(\d{1,9}(?:[.,]\d{1,9})?)W)?(?:(\d{1,9}(?:[.,]\d{1,9})?)D)?(?:T(?!$)(?:(\d{1,9}(?:[.,]\d{1,9})?)H)?(?:(\d{1,9}(?:[.,]\d{1,9})?)M)?(?:(\d{1,9}(?:[.,]\d{1,9})?)S)?)?$/i;
const ISO_UNITS = ['w', 'd', 'h', 'm', 's'];

/** What to say of a text that is none. */
export const DURATION_FORM = 'give a duration such as "30m", "2 hours", "1d" or "PT1H"';

/**
 * The seconds of a duration: a number of them, a number with a unit, or ISO 8601; NaN for what is none. Months are none:
 * they differ in length. A year is 365.25 days.
 */
export function secondsOf(duration: number | string): number {
  if (typeof duration === 'number') return duration;
  const text = duration.trim();
  const [, count, unit = 's'] = WORDS.exec(text) ?? [];
  if (count !== undefined) return Number(count) * UNITS[unit[0]!.toLowerCase()]!;
  const iso = ISO.exec(text);
  if (!iso) return Number.NaN;
  return ISO_UNITS.reduce(
    (sum, each, index) => sum + Number((iso[index + 1] ?? '0').replace(',', '.')) * UNITS[each]!,
    0,
  );
}
