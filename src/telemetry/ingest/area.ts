import { area } from '../../area/area.ts';
import type { Tools } from '../../area/tools.ts';
import { startSweeper } from '../../core/sweeper.ts';
import { ingestEndings } from './endings.ts';
import { createIngest } from './ingest.ts';
import { ingestRoutes } from './routes.ts';

export interface IngestParts extends Tools {
  /** Spans of clients are kept as long as entries of the log, and what is said in them as bodies are. */
  readonly settings: { readonly logRetentionDays: number; readonly logBodies: boolean };
}

const EVERY_MS = 3_600_000;
const DAY_MS = 24 * 60 * 60 * 1_000;

/** What clients say of themselves by OpenTelemetry, beside what the gateway sees of their calls. */
export const ingestArea = area({
  name: 'ingest',
  open: ({ store, settings, now }: IngestParts) => {
    const ingest = createIngest({ store });
    const sweep = (signal: AbortSignal) => ingest.sweep(now() - settings.logRetentionDays * DAY_MS, signal);
    return {
      gives: {},
      routes: ingestRoutes({ ingest, store, keepsContent: settings.logBodies }),
      sweepers: [() => startSweeper({ what: 'spans of clients', everyMs: EVERY_MS, sweep })],
      ends: ingestEndings(store),
    };
  },
});
