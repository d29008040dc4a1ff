import { GatewayError } from '../../core/errors.ts';

const MOST_ADDRESSES = 10_000;

/** How often one address may ask in a period. Counted by each process for itself: it keeps floods out, nothing else. */
export function createAddressLimits({ most, periodMs, now }: { most: number; periodMs: number; now: () => number }) {
  const counts = new Map<string, { asked: number; readonly endsAt: number }>();
  return {
    /** Throws 429 for one that asks too often. */
    admit(address: string): void {
      const at = now();
      const source = networkOf(address);
      let count = counts.get(source);
      if (!count || count.endsAt <= at) {
        counts.delete(source);
        if (counts.size >= MOST_ADDRESSES) counts.delete(counts.keys().next().value!);
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

/** Whoever has one address of IPv6 has a whole network of 64 bits. */
function networkOf(address: string): string {
  if (!address.includes(':') || address.startsWith('::ffff:')) return address;
  const [head = '', tail] = address.split('::');
  const front = head.split(':').filter(Boolean);
  if (tail === undefined) return front.slice(0, 4).join(':');
  const back = tail.split(':').filter(Boolean);
  const middle = Array<string>(Math.max(0, 8 - front.length - back.length)).fill('0');
  return [...front, ...middle, ...back].slice(0, 4).join(':');
}
