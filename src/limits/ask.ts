import type { Principal } from '../core/principal.ts';

/** What a call may take at most. */
export interface Estimate {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Billionths of a US dollar; null when the model's price is unknown. */
  readonly cost: number | null;
}

/** One call, as limits see it before it runs. */
export interface Ask {
  readonly who: Principal;
  readonly virtualKey: string | null;
  readonly provider: string;
  readonly model: string | null;
  /** Asked for only when a limit counts tokens or cost. */
  readonly estimate: () => Estimate;
}
