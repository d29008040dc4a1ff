import * as z from 'zod';
import type { Delivery } from '../core/delivery.ts';
import type { Checked } from '../core/schema.ts';
import { schemaOf } from '../core/schema.ts';
import type { AlertEventRow, AlertLookRow, AlertRuleRow, AlertStateRow } from '../storage/schema.ts';
import { condition } from './condition.ts';
import { type Finding, TELLINGS, type Telling } from './telling.ts';

/** A rule as its owners see it. */
export const alertObject = () =>
  z
    .object({
      id: z.uuid(),
      object: z.literal('alert'),
      name: z.string(),
      condition: schemaOf(condition),
      channels: z.array(z.string()),
      repeat_after: z.number().int().nullable().describe('Seconds; null: what goes on is not told again.'),
      is_enabled: z.boolean(),
      organisation_id: z.string(),
      workspace_id: z.string().nullable().describe('Null: it watches the whole organisation.'),
      status: z.enum(['off', 'waiting', 'calm', 'firing']),
      firing: z
        .array(
          z.object({
            subject: z.string(),
            summary: z.string(),
            value: z.number().nullable(),
            threshold: z.number().nullable(),
            since: z.string(),
            last_told_at: z.string(),
          }),
        )
        .describe('What it holds for at present, at most 100 of it.'),
      problem: z.string().nullable().describe('Why it could not be judged: what it names is gone, or cannot be read.'),
      checked_at: z.string().nullable(),
      created_at: z.string(),
      last_updated_at: z.string(),
    })
    .meta({ id: 'Alert' });
export type Alert = Checked<typeof alertObject>;

export const alertEventObject = () =>
  z
    .object({
      id: z.string(),
      object: z.literal('alert.event'),
      type: z.enum(TELLINGS),
      at: z.string(),
      alert_id: z.string(),
      subject: z.string(),
      summary: z.string(),
      value: z.number().nullable(),
      threshold: z.number().nullable(),
      since: z.string(),
      reason: z.string().nullable(),
      channels: z.array(z.string()).describe('Whom it was told to.'),
      deliveries: z
        .array(
          z.object({
            channel_id: z.string(),
            status: z.enum(['waiting', 'delivered', 'retrying', 'failed']),
            at: z.string().nullable(),
            attempts: z.number().int(),
            response_status: z.number().int().nullable(),
            error: z.string().nullable(),
          }),
        )
        .describe('How that went with each of them.'),
    })
    .meta({ id: 'AlertEvent' });
export type AlertEvent = Checked<typeof alertEventObject>;

export const MOST_SHOWN = 100;

const iso = (at: number): string => new Date(at).toISOString();

/** What was found out about a rule. */
export interface Known {
  readonly look: AlertLookRow | null;
  readonly states: readonly AlertStateRow[];
}

export function shownRule(row: AlertRuleRow, { look, states }: Known): Alert {
  const status = !row.is_enabled ? 'off' : states.length > 0 ? 'firing' : look === null ? 'waiting' : 'calm';
  return {
    id: row.id,
    object: 'alert',
    name: row.name,
    condition: JSON.parse(row.condition),
    channels: JSON.parse(row.channels),
    repeat_after: row.repeat_after,
    is_enabled: row.is_enabled === 1,
    organisation_id: row.organisation_id,
    workspace_id: row.workspace_id,
    status,
    firing: states.slice(0, MOST_SHOWN).map(({ subject, since, told_at, found }) => {
      const { summary, value, threshold } = JSON.parse(found) as Finding;
      return { subject, summary, value, threshold, since: iso(since), last_told_at: iso(told_at) };
    }),
    problem: look?.problem ?? null,
    checked_at: look === null ? null : iso(look.checked_at),
    created_at: iso(row.created_at),
    last_updated_at: iso(row.updated_at),
  };
}

export function shownEvent({ id, rule_id, told, channels, at }: AlertEventRow): AlertEvent {
  const { type, data } = JSON.parse(told) as Telling;
  const { subject, summary, value, threshold, since, reason = null } = data;
  const deliveries = JSON.parse(channels) as Deliveries;
  return {
    id,
    object: 'alert.event',
    type,
    at: iso(at),
    alert_id: rule_id,
    ...{ subject, summary, value, threshold, since, reason },
    channels: Object.keys(deliveries),
    deliveries: Object.entries(deliveries).map(([channel_id, delivery]) => {
      if (!delivery) return { channel_id, ...NOT_TRIED };
      const { event_id: _, ...rest } = delivery;
      return { channel_id, ...rest };
    }),
  };
}

/** How it went with each channel, by its id; null: it has not been tried yet. */
export type Deliveries = Readonly<Record<string, Delivery | null>>;

const NOT_TRIED = { status: 'waiting', at: null, attempts: 0, response_status: null, error: null } as const;
