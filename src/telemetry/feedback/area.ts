import { area } from '../../area/area.ts';
import type { Tools } from '../../area/tools.ts';
import { ownFile } from '../../core/program.ts';
import { openReader } from '../../storage/reader.ts';
import { feedbackGraphRoutes } from '../analytics/routes.ts';
import { feedbackEndings } from './endings.ts';
import { createFeedback } from './feedback.ts';
import { createFeedbackGraphs } from './graphs.ts';
import { feedbackRoutes } from './routes.ts';
import { startFeedbackSweeper } from './sweeper.ts';

export interface FeedbackParts extends Tools {
  /** Feedback is kept as long as the entries it is about. */
  readonly settings: { readonly logRetentionDays: number };
}

/** What people thought of answers. */
export const feedbackArea = area({
  name: 'feedback',
  open: ({ store, dataDir, settings, now }: FeedbackParts) => {
    const feedback = createFeedback({ store, now });
    const reader = openReader({ store, dataDir, workerUrl: ownFile('storage/query-worker') });
    const graphs = createFeedbackGraphs({ store, reader });
    return {
      gives: {},
      routes: [...feedbackRoutes(feedback), ...feedbackGraphRoutes({ graphs, store })],
      sweepers: [() => startFeedbackSweeper({ sweep: feedback.sweep, retentionDays: settings.logRetentionDays, now })],
      ends: feedbackEndings(store),
      close: () => reader.close(),
    };
  },
});
