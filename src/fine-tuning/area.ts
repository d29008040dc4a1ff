import { area } from '../area/area.ts';
import type { Notify } from '../area/notify.ts';
import type { Tools } from '../area/tools.ts';
import type { VirtualKeys } from '../auth/virtual-keys.ts';
import type { Files } from '../files/files.ts';
import { fineTuningEndings, jobsAbroad } from './endings.ts';
import { createFineTuning } from './fine-tuning.ts';
import type { JobsDeps } from './jobs.ts';
import { fineTuningRoutes } from './routes.ts';

export interface FineTuningParts extends Tools, Pick<JobsDeps, 'tokens' | 'workspaceAsCaller'> {
  readonly files: Files;
  readonly virtualKeys: VirtualKeys;
  /** Absent: no webhook is told of jobs that have ended. */
  readonly notify?: Notify;
}

/** Jobs that tune models at providers. */
export const fineTuningArea = area({
  name: 'fine-tuning',
  open: (parts: FineTuningParts) => {
    const { store, files, virtualKeys, upstream, simulate, tokens, workspaceAsCaller, workers, now } = parts;
    const fineTuning = createFineTuning({
      ...{ store, files, virtualKeys, upstream, simulate, tokens, workspaceAsCaller, workers, now },
      notify: parts.notify ?? (async () => {}),
      random: Math.random,
    });
    return {
      gives: {},
      routes: fineTuningRoutes({ fineTuning, virtualKeys }),
      work: [fineTuning.kind],
      ends: fineTuningEndings({ store, workers }),
      abroad: jobsAbroad({ store, upstream, simulate, tokens, now }),
    };
  },
});
