import { BoundedMap } from '../core/bounded-map.ts';

/** How attempts at one provider ended within a minute. */
export interface OutcomeCount {
  readonly workspaceId: string;
  readonly provider: string;
  /** Since the epoch. */
  readonly minute: number;
  failed: number;
  asked: number;
}

/** How attempts at providers end on this node, where some rule wants to know. */
export interface ProviderOutcomes {
  count(isWanted: boolean): void;
  /** The status of an attempt; 0: it ended by no doing of the provider. */
  ended(workspaceId: string, provider: string, status: number): void;
  /** What was counted in the minutes from that moment on. */
  since(moment: number): OutcomeCount[];
}

const MINUTE_MS = 60_000;
const MOST = 20_000;

export function createProviderOutcomes({ now }: { now: () => number }): ProviderOutcomes {
  let isWanted = false;
  let minute = 0;
  /** Of the minute that is under way: found without making a key of it. */
  let current = new Map<string, Map<string, OutcomeCount>>();
  const counts = new BoundedMap<OutcomeCount, true>(MOST);

  return {
    count: (wanted) => {
      isWanted = wanted;
    },
    ended: (workspaceId, provider, status) => {
      if (!isWanted || status === 0) return;
      const present = Math.floor(now() / MINUTE_MS);
      if (present !== minute) {
        minute = present;
        current = new Map();
      }
      let providers = current.get(workspaceId);
      if (!providers) {
        providers = new Map();
        current.set(workspaceId, providers);
      }
      let count = providers.get(provider);
      if (!count) {
        count = { workspaceId, provider, minute, failed: 0, asked: 0 };
        providers.set(provider, count);
        counts.set(count, true);
      }
      count.asked++;
      if (status >= 500) count.failed++;
    },
    since: (moment) => {
      const first = Math.floor(moment / MINUTE_MS);
      return [...counts.entries()].flatMap(([count]) => (count.minute >= first ? [count] : []));
    },
  };
}
