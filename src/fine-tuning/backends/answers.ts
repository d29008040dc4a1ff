import type { JobError } from '../job.ts';

/** Reading of answers that come from others: nothing in them is taken for granted. */
export type Members = Readonly<Record<string, unknown>>;

export const objectIn = (value: unknown): Members =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Members) : {};

export const listIn = (value: unknown): readonly Members[] => (Array.isArray(value) ? value.map(objectIn) : []);

export const textIn = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

/** A number, also where JSON holds it as text. */
export function numberIn(value: unknown): number | null {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : null;
}

/** Milliseconds of a moment in seconds. */
export const momentIn = (value: unknown): number | null => {
  const seconds = numberIn(value);
  return seconds === null ? null : Math.round(seconds * 1_000);
};

/** Milliseconds of a moment in words, as RFC 3339 has them; Bedrock's may also come as seconds. */
export function dateIn(value: unknown): number | null {
  if (typeof value === 'number') return momentIn(value);
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isFinite(ms) ? ms : null;
}

/** The text that must be there. */
export function needed(value: unknown, what: string): string {
  const text = textIn(value);
  if (text === null) throw new Error(`the answer has no ${what}`);
  return text;
}

export const lastSegment = (name: string): string => name.slice(name.lastIndexOf('/') + 1);

const LONGEST_MESSAGE = 2_000;

/** `{error: {code, message, param}}` of OpenAI and Google, `{code, message}` of Fireworks, `{message, __type}` of AWS. */
export function errorIn(status: number, answer: unknown): JobError {
  const whole = objectIn(answer);
  const inner = typeof whole.error === 'object' && whole.error !== null ? objectIn(whole.error) : whole;
  const code = textIn(inner.status) ?? textIn(inner.code) ?? textIn(inner.__type) ?? textIn(inner.type);
  const message = textIn(inner.message) ?? textIn(inner.Message) ?? textIn(whole.error) ?? `It answered ${status}.`;
  return {
    code: code ?? `status_${status}`,
    message: message.slice(0, LONGEST_MESSAGE),
    param: textIn(inner.param),
  };
}
