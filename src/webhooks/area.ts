import { area } from '../area/area.ts';
import type { Tools } from '../area/tools.ts';
import { deliveryKind } from './delivery.ts';
import { webhookEndings } from './endings.ts';
import { webhookRoutes } from './routes.ts';
import { createWebhooks } from './webhooks.ts';

/** Tells receivers of what has ended. */
export const webhooksArea = area({
  name: 'webhooks',
  endsAtOnce: () => webhookEndings,
  open: ({ store, sealer, egress, upstream, workers, now }: Tools) => {
    const webhooks = createWebhooks({ store, sealer, egress, workers, now });
    return {
      gives: { notify: webhooks.notify },
      routes: webhookRoutes(webhooks),
      work: [deliveryKind({ store, sealer, upstream, random: Math.random, now })],
    };
  },
});
