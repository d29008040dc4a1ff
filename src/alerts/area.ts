import { area } from '../area/area.ts';
import type { Tools } from '../area/tools.ts';
import type { AuditEvent } from '../core/audit-event.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Breakers } from '../routing/breaker.ts';
import type { ProviderOutcomes } from '../routing/provider-outcomes.ts';
import type { Db } from '../storage/store.ts';
import type { RequestLog } from '../telemetry/request-log.ts';
import { createChannels } from './channels.ts';
import { deliveryKind } from './delivery.ts';
import { alertEndings, alertHistoryEndings } from './endings.ts';
import { evaluationKind } from './evaluation.ts';
import { channelRoutes, ruleRoutes } from './routes.ts';
import { createRules } from './rules.ts';
import { createSend } from './send.ts';
import { startSightings } from './sightings.ts';

export interface AlertParts extends Tools {
  readonly noteWith: (db: Db, event: AuditEvent) => Promise<void>;
  readonly limiter: Limiter;
  readonly log: RequestLog;
  readonly breakers: Breakers;
  readonly outcomes: ProviderOutcomes;
  readonly settings: { readonly alertsSeconds: number };
}

/** Watches what people want to be told of, and tells it. */
export const alertsArea = area({
  name: 'alerts',
  endsAtOnce: () => alertEndings,
  open: (parts: AlertParts) => {
    const { store, sealer, egress, upstream, workers, now, noteWith, organisationId, log, limiter, settings } = parts;
    const { health, breakers, outcomes, dataDir, report } = parts;
    const everyMs = settings.alertsSeconds * 1_000;
    const send = createSend({ upstream, egress, now });
    const channels = createChannels({ store, sealer, egress, workers, send, now });
    const rules = createRules({ store, sealer, workers, channels, now });
    return {
      gives: {},
      routes: [...channelRoutes(channels), ...ruleRoutes(rules)],
      work: [
        evaluationKind({ store, budgets: limiter, log, workers, noteWith, report, organisationId, everyMs, now }),
        deliveryKind({ store, sealer, send, random: Math.random, now }),
      ],
      sweepers: [() => startSightings({ store, health, breakers, outcomes, workers, dataDir, everyMs, now })],
      ends: alertHistoryEndings(store),
    };
  },
});
