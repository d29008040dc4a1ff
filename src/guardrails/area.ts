import { area } from '../area/area.ts';
import type { Tools } from '../area/tools.ts';
import { ownFile } from '../core/program.ts';
import { createCheckThreads } from './check-threads.ts';
import { createGuardrailDefaults } from './defaults.ts';
import { guardrailEndings } from './endings.ts';
import { createGuardrails } from './guardrails.ts';

/** What may be asked of models, and what they may answer. */
export const guardrailsArea = area({
  name: 'guardrails',
  endsAtOnce: () => guardrailEndings,
  open: ({ store, sealer, changes, egress, now }: Tools) => {
    const guardrails = createGuardrails({ store, sealer, changes, egress, now });
    const checkThreads = createCheckThreads({ workerUrl: ownFile('guardrails/check-worker') });
    return {
      gives: {
        guardrails,
        guardrailDefaults: createGuardrailDefaults({ store, changes, resolve: guardrails.resolve, now }),
        checkThreads,
      },
      close: () => checkThreads.close(),
    };
  },
});
