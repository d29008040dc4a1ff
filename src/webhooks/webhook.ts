import * as z from 'zod';
import { EVENTS, type EventType } from '../area/notify.ts';
import { deliveryObject } from '../core/delivery.ts';
import { maskedAddress } from '../core/masked-address.ts';
import type { Checked } from '../core/schema.ts';
import type { WebhookRow } from '../storage/schema.ts';

/** What is sent: which object it is about, and nothing of what is in it. */
export interface WebhookEvent {
  readonly id: string;
  readonly object: 'event';
  /** Seconds. */
  readonly created_at: number;
  readonly type: EventType;
  readonly data: { readonly id: string };
}

export const webhookObject = () =>
  z
    .object({
      id: z.uuid(),
      object: z.literal('webhook'),
      name: z.string(),
      url: z.string(),
      events: z.array(z.enum(EVENTS)),
      is_enabled: z.boolean(),
      workspace_id: z.string(),
      last_delivery: deliveryObject().nullable(),
      created_at: z.string(),
      last_updated_at: z.string(),
    })
    .meta({ id: 'Webhook' });
export type Webhook = Checked<typeof webhookObject>;

/** A webhook as its owners see it, of a row whose address is open. */
export const shownWebhook = (row: WebhookRow): Webhook => ({
  id: row.id,
  object: 'webhook',
  name: row.name,
  url: maskedAddress(row.url),
  events: JSON.parse(row.events),
  is_enabled: row.is_enabled === 1,
  workspace_id: row.workspace_id,
  last_delivery: row.last_delivery === null ? null : JSON.parse(row.last_delivery),
  created_at: new Date(row.created_at).toISOString(),
  last_updated_at: new Date(row.updated_at).toISOString(),
});
