import { BoundedMap } from '../../core/bounded-map.ts';
import { GatewayError } from '../../core/errors.ts';
import { networkOf } from '../../core/network.ts';

const MOST_ADDRESSES = 10_000;

/** How often one address may ask in a period. Counted by each process for itself: it keeps floods out, nothing else. */
export function createAddressLimits({ most, periodMs, now }: { most: number; periodMs: number; now: () => number }) {
  const counts = new BoundedMap<string, { asked: number; readonly endsAt: number }>(MOST_ADDRESSES);
  return {
    /** Throws 429 for one that asks too often. */
    admit(address: string): void {
      const at = now();
      const source = networkOf(address);
      let count = counts.get(source);
      if (!count || count.endsAt <= at) {
        count = { asked: 0, endsAt: at + periodMs };
        counts.set(source, count);
      }
      if (++count.asked <= most) return;
      const seconds = Math.ceil((count.endsAt - at) / 1_000);
      throw new GatewayError('oauth_too_many_requests', [seconds], { 'retry-after': String(seconds) });
    },
  };
}

export type AddressLimits = ReturnType<typeof createAddressLimits>;
