import { NOBODY, type NoteEvent } from '../core/audit-event.ts';
import type { Health } from '../core/health.ts';
import { type Sweeper, startSweeper } from '../core/sweeper.ts';
import { uuidFrom } from '../crypto/stable-id.ts';
import type { PriceSync } from './price-sync.ts';

const EVERY_MS = 6 * 3_600_000;

export interface ScheduleDeps {
  readonly prices: PriceSync;
  readonly url: string;
  readonly note: NoteEvent;
  readonly health: Health;
  readonly organisationId: string;
  readonly now: () => number;
}

/** Fetches the signed list at the start and every six hours. What cannot be used changes nothing and is noted. */
export function schedulePrices({ prices, url, note, health, organisationId, now }: ScheduleDeps): Sweeper {
  let problem: string | null = null;
  health.noteBy(() => problem);
  const sync = async () => {
    try {
      const synced = await prices.fetchSigned(url);
      problem = null;
      if (!synced) return;
      note({
        // Several nodes may fetch it at the same moment: that is one event.
        id: uuidFrom(`prices ${synced.sha256} ${synced.synced_at.slice(0, 16)}`),
        at: now(),
        caller: { organisationId, workspaceId: '', type: 'api_key', id: NOBODY },
        resource: 'prices',
        action: 'sync',
        uri: '',
        status: 200,
        body: synced,
      });
    } catch (error) {
      problem = 'The list of prices could not be synced: the one before it stays. Standard error says why.';
      process.stderr.write(`GATEWAY_PRICES_SYNC_URL: ${error instanceof Error ? error.message : String(error)}\n`);
    }
  };
  void sync();
  return startSweeper({ what: 'prices', everyMs: EVERY_MS, sweep: sync });
}
