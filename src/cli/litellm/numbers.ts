/** What a loader of Python or a later check of LiteLLM takes for a number, also where the file has it as a text. */
const WRITTEN =
  /^[+-]?(?:0x[\da-f_]+|0o[0-7_]+|0b[01_]+|(?:\d[\d_]*)(?:\.[\d_]*)?(?:e[+-]?\d+)?|\.\d[\d_]*(?:e[+-]?\d+)?)$/i;

/** `20_000`, `"1e-6"`, `0o17` as the number they stand for; anything else as it is. */
export function asNumber(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  const text = value.trim();
  if (!WRITTEN.test(text)) return value;
  const digits = text.replaceAll('_', '');
  const isNegative = digits.startsWith('-');
  const number = Number(/^[+-]/.test(digits) ? digits.slice(1) : digits);
  return Number.isFinite(number) ? (isNegative ? -number : number) : value;
}

/** The number, if it is one. */
export function numberIn(value: unknown): number | undefined {
  const number = asNumber(value);
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}
