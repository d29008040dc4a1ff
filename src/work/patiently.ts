import { GatewayError } from '../core/errors.ts';

/** While the store is away, what was reached is kept in memory as long as the lease lasts. */
const TRY_AGAIN_MS = 250;

/** Tries again while the store is away, until it is told to stop. */
export async function patiently<Result>(signal: AbortSignal, step: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await step();
    } catch (error) {
      if (!isStoreAway(error) || signal.aborted) throw error;
      await Bun.sleep(TRY_AGAIN_MS);
    }
  }
}

export const isStoreAway = (error: unknown): boolean =>
  error instanceof GatewayError && error.code === 'store_unavailable';
