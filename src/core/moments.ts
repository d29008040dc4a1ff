/** Moments of ISO 8601, in the forms that people and their libraries write. */

/** A calendar date, whole or cut: 2026, 2026-01, 2026-01-31, 20260131. */
const CALENDAR = /^(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?$|^(\d{4})(\d{2})(\d{2})$/;
/** A week, or a day of one: 2026-W05, 2026-W05-6, 2026W05, 2026W056. */
const WEEK = /^(\d{4})-?W(\d{2})(?:-?([1-7]))?$/i;
/** A day of a year: 2026-031, 2026031. */
const ORDINAL = /^(\d{4})-?(\d{3})$/;
/** The smallest part that is given may have a fraction: 12, 12:30, 12:30:15, 123015, 12:30.5. */
const TIME = /^(\d{2})(?::?(\d{2})(?::?(\d{2}))?)?(?:[.,](\d{1,12}))?$/;
/** A plus that was not escaped arrives as a space, and before a zone it can mean nothing else. */
const ZONE = /(Z|[+\- −]\d{2}(?::?\d{2})?)$/i;

const DAY = 86_400_000;
const HOUR = 3_600_000;
const MINUTE = 60_000;

/** What to say of a text that is none. */
export const MOMENT_FORM = 'give an ISO 8601 moment such as 2026-01-31T12:00:00Z or 2026-01-31T13:00:00+01:00';

/**
 * A moment of ISO 8601 in milliseconds since the epoch, NaN for what is none. Without a zone it is UTC. A form that names
 * more than a moment (a day, a month, a week) means its beginning.
 */
export function momentOf(text: string): number {
  const [date, time, ...more] = text.split(/t/i);
  if (date === undefined || more.length > 0) return Number.NaN;
  return time === undefined ? dayOf(date) : dayOf(date, true) + timeOf(time);
}

export const isMoment = (text: string): boolean => !Number.isNaN(momentOf(text));

/** Where a day begins; NaN for what is none, or names more than a day where it must not. */
function dayOf(text: string, mustBeDay = false): number {
  const calendar = CALENDAR.exec(text);
  if (calendar) {
    const [year, month, day] = calendar[4] === undefined ? calendar.slice(1) : calendar.slice(4);
    return mustBeDay && day === undefined
      ? Number.NaN
      : calendarDay(Number(year), Number(month ?? 1), Number(day ?? 1));
  }
  const week = WEEK.exec(text);
  if (week)
    return mustBeDay && week[3] === undefined ? Number.NaN : weekDay(...numbers(week[1]!, week[2]!, week[3] ?? '1'));
  const [, year, day] = ORDINAL.exec(text) ?? [];
  return year === undefined ? Number.NaN : ordinalDay(Number(year), Number(day));
}

const numbers = (year: string, week: string, day: string): [number, number, number] => [
  Number(year),
  Number(week),
  Number(day),
];

/** `Date.UTC` reads years below 100 as those of the last century. */
const utc = (year: number, month: number, day: number): number => new Date(0).setUTCFullYear(year, month - 1, day);

function calendarDay(year: number, month: number, day: number): number {
  const at = utc(year, month, day);
  const back = new Date(at);
  return back.getUTCMonth() === month - 1 && back.getUTCDate() === day ? at : Number.NaN;
}

/** The first week of a year is the one that 4 January lies in; weeks begin on Monday. */
function weekDay(year: number, week: number, day: number): number {
  const firstMonday = (of: number) => {
    const fourth = utc(of, 1, 4);
    return fourth - ((new Date(fourth).getUTCDay() + 6) % 7) * DAY;
  };
  const at = firstMonday(year) + (week - 1) * 7 * DAY;
  return week >= 1 && at < firstMonday(year + 1) ? at + (day - 1) * DAY : Number.NaN;
}

function ordinalDay(year: number, day: number): number {
  const at = utc(year, 1, day);
  return day >= 1 && new Date(at).getUTCFullYear() === year ? at : Number.NaN;
}

/** From the beginning of its day in UTC on. 24:00 is the end of the day, and a leap second the next moment there is. */
function timeOf(text: string): number {
  const zone = ZONE.exec(text)?.[1] ?? '';
  const parts = TIME.exec(text.slice(0, text.length - zone.length));
  if (!parts) return Number.NaN;
  const [, hour, minute, second, fraction] = parts;
  const [h, m, s] = [Number(hour), Number(minute ?? 0), Number(second ?? 0)];
  const unit = second === undefined ? (minute === undefined ? HOUR : MINUTE) : 1_000;
  const inDay = h * HOUR + m * MINUTE + s * 1_000 + Math.floor(Number(`0.${fraction ?? 0}`) * unit);
  const at = inDay - offsetOf(zone);
  const isLeap = s === 60 && at % DAY === 0;
  return inDay <= DAY && m < 60 && (s < 60 || isLeap) ? at : Number.NaN;
}

function offsetOf(zone: string): number {
  if (zone === '' || /^z$/i.test(zone)) return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(3).replace(':', '') || 0);
  if (hours > 23 || minutes > 59) return Number.NaN;
  return (/^[-−]/.test(zone) ? -1 : 1) * (hours * HOUR + minutes * MINUTE);
}
