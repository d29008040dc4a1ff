/** Loaded before the gateway by a node whose clock goes wrong: its JavaScript sees the time shifted. */
const skewMs = Number(process.env.CHAOS_CLOCK_SKEW_MS ?? 0);
const now = Date.now.bind(Date);
Date.now = () => now() + skewMs;
globalThis.Date = class extends Date {
  constructor(...given: [] | [number | string | Date]) {
    super(...((given.length === 0 ? [now() + skewMs] : given) as [number]));
  }
} as DateConstructor;
