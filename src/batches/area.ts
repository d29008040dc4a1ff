import { area } from '../area/area.ts';
import type { Notify } from '../area/notify.ts';
import type { Tools } from '../area/tools.ts';
import type { VirtualKeys } from '../auth/virtual-keys.ts';
import { guardrailsOf } from '../core/guardrails.ts';
import type { GuardrailDefaultsStore } from '../guardrails/defaults.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Policies } from '../limits/policies/policies.ts';
import type { TokenSource } from '../providers/provider.ts';
import type { WorkProofs } from '../relay/work-proofs.ts';
import type { Configs } from '../routing/configs.ts';
import { type BatchesDeps, createBatches } from './batches.ts';
import { batchEndings, batchesAbroad } from './endings.ts';
import { Gates } from './gates.ts';
import { accountFor } from './native/account.ts';
import { Pace } from './pace.ts';
import { batchRoutes } from './routes.ts';

export interface BatchesParts
  extends Tools,
    Pick<BatchesDeps, 'files' | 'callModel' | 'principalOf' | 'workspaceAsCaller'> {
  readonly proofs: WorkProofs;
  readonly virtualKeys: VirtualKeys;
  readonly configs: Configs;
  readonly tokens: TokenSource;
  readonly limiter: Limiter;
  readonly policies: Policies;
  readonly guardrailDefaults: GuardrailDefaultsStore;
  /** When a client last called a model: batches give way. */
  readonly lastInteractiveAt: () => number;
  /** Absent: no webhook is told of batches that have ended. */
  readonly notify?: Notify;
  readonly settings: { readonly batchRequests: number };
}

/** Many requests in one file, answered when there is time. */
export const batchesArea = area({
  name: 'batches',
  open: (parts: BatchesParts) => {
    const { store, files, callModel, proofs, principalOf, workspaceAsCaller, workers, now } = parts;
    const { virtualKeys, configs, upstream, simulate, tokens, limiter, policies, prices, guardrailDefaults } = parts;
    const { batchRequests } = parts.settings;
    const native = { virtualKeys, upstream, simulate, tokens, now };
    const batches = createBatches({
      ...{ store, files, callModel, proofs, principalOf, workspaceAsCaller, workers, native, now },
      gates: new Gates({
        most: batchRequests * 2,
        pace: new Pace({ lastInteractiveAt: parts.lastInteractiveAt }),
      }),
      mostInFlight: batchRequests,
      account: accountFor({ limiter, prices }),
      limits: { policies, holds: limiter.work, prices },
      notify: parts.notify ?? (async () => {}),
      isGuarded: async (who) => {
        const { input, output } = await guardrailDefaults.of(who);
        return input.length + output.length > 0 || guardrailsOf([who.defaults]) !== undefined;
      },
    });
    return {
      gives: {},
      routes: batchRoutes({ batches, files, virtualKeys, configs, proofs }),
      work: batches.kinds,
      ends: batchEndings({ store, workers }),
      abroad: batchesAbroad({ store, native }),
    };
  },
});
