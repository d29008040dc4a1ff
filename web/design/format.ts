/** Numbers, money and times, as the whole console shows them. */
const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });
/** To make one takes longer than to use it a hundred times. */
const money = (least: number, most: number) =>
  new Intl.NumberFormat('en-US', { minimumFractionDigits: least, maximumFractionDigits: most });
const [dollarsAndCents, tenthsOfCents, fractions] = [money(2, 2), money(2, 3), money(2, 6)];
const shortDate = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });
const fullTime = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

export const formatNumber = (value: number): string => (Math.abs(value) >= 100_000 ? compact : whole).format(value);

/** `1 call`, `2 calls`. */
export const formatCount = (value: number, one: string, many = `${one}s`): string =>
  `${formatNumber(value)} ${value === 1 ? one : many}`;

/** Fractions of a cent are told apart: calls cost that little. */
export function formatMoney(dollars: number): string {
  const size = Math.abs(dollars);
  const format = size === 0 || size >= 1 ? dollarsAndCents : size >= 0.01 ? tenthsOfCents : fractions;
  return `$${format.format(dollars)}`;
}

export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const minutes = Math.floor(ms / 60_000);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export const formatBytes = (bytes: number): string => {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  const step = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log(bytes) / Math.log(1_000)));
  const value = bytes / 1_000 ** step;
  return `${step === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[step]}`;
};

export const formatDate = (at: string | number): string => shortDate.format(new Date(at));
export const formatTime = (at: string | number): string => fullTime.format(new Date(at));

const STEPS: readonly (readonly [number, string, number])[] = [
  [60, 's', 1],
  [3_600, 'min', 60],
  [86_400, 'h', 3_600],
  [30 * 86_400, 'd', 86_400],
];

/** `4 min ago`, `in 3 d`; a date when it is further away than a month. */
export function formatAgo(at: string | number, now = Date.now()): string {
  const seconds = (now - new Date(at).getTime()) / 1_000;
  const size = Math.abs(seconds);
  if (size < 5) return 'just now';
  const step = STEPS.find(([below]) => size < below);
  if (!step) return formatDate(at);
  const text = `${Math.floor(size / step[2])} ${step[1]}`;
  return seconds > 0 ? `${text} ago` : `in ${text}`;
}
