import * as z from 'zod';
import { HEALTH_PARTS } from '../core/health.ts';
import type { Checked } from '../core/schema.ts';
import { line } from './channel.ts';

/** What a rule watches, by its `type`. */

const percent = () =>
  z.number({ error: 'give a percentage' }).positive('give more than 0').max(100, 'give at most 100');
const seconds = (least: number, most: number) =>
  z.int('give whole seconds').min(least, `give at least ${least} seconds`).max(most, `give at most ${most} seconds`);
const calls = () => z.int('give a whole number of calls').min(1, 'give at least 1').max(1_000_000_000);
const named = () => line(255);

const DAY_S = 86_400;
const window = () => seconds(60, 31 * DAY_S).describe('Over how many seconds it is counted, up to now.');
const minimum = (fallback: number) =>
  calls().default(fallback).describe('With fewer calls in the window, nothing is said.');

const filter = () =>
  z
    .strictObject({ api_key_id: named(), virtual_key: named(), provider: named(), model: named() })
    .partial()
    .describe('Counts only calls with all of these.')
    .optional();

/** Exactly one of the members, where there are any. */
const oneOf = <Shape extends z.core.$ZodLooseShape>(shape: Shape) =>
  z
    .strictObject(shape)
    .partial()
    .superRefine((value, context) => {
      const given = Object.values(value).filter((each) => each !== undefined).length;
      if (given !== 1)
        context.addIssue({ code: 'custom', path: [], message: `give exactly one of ${Object.keys(shape).join(', ')}` });
    })
    .optional();

const budget = () =>
  z.strictObject({
    type: z.literal('budget'),
    thresholds: z
      .array(percent(), { error: 'give a list of percentages' })
      .min(1, 'give at least one percentage')
      .max(10, 'give at most 10 percentages')
      .refine(isRising, 'give percentages that rise, each once')
      .describe('Percent of a budget; each is told when it is reached.'),
    of: oneOf({ api_key_id: named(), virtual_key: named(), workspace_id: named(), policy_id: named() }).describe(
      'Whose budgets: all of them, unless given.',
    ),
  });

const isRising = (list: readonly number[]) => list.every((each, index) => index === 0 || each > list[index - 1]!);

const spendRate = () =>
  z.strictObject({
    type: z.literal('spend_rate'),
    above: z.number({ error: 'give US dollars' }).positive('give more than 0').describe('US dollars in the window.'),
    window: window(),
    filter: filter(),
  });

const errorRate = () =>
  z.strictObject({
    type: z.literal('error_rate'),
    above: percent().describe('Percent of the calls that have failed.'),
    window: window(),
    min_calls: minimum(20),
    failed_by: z
      .enum(['client', 'gateway', 'provider'], { error: 'give client, gateway or provider' })
      .optional()
      .describe('Counts only failures of theirs.'),
    filter: filter(),
  });

const PERCENTILES = [50, 90, 99] as const;
const latency = () =>
  z.strictObject({
    type: z.literal('latency'),
    percentile: z.literal([...PERCENTILES], { error: `give ${PERCENTILES.join(', ')}` }),
    above: z.number({ error: 'give milliseconds' }).positive('give more than 0').describe('Milliseconds.'),
    window: window(),
    min_calls: minimum(20),
    filter: filter(),
  });

const unpricedCalls = () =>
  z.strictObject({
    type: z.literal('unpriced_calls'),
    above: z.int('give a whole number of calls').min(0, 'give 0 or more').default(0),
    window: window(),
    filter: filter(),
  });

const breakerOpen = () =>
  z.strictObject({
    type: z.literal('breaker_open'),
    config: named().optional().describe('The slug or id of a config; breakers of all configs, unless given.'),
    calm: seconds(1, DAY_S).default(60).describe('It is over when the breaker has not been open for so many seconds.'),
  });

const providerDown = () =>
  z.strictObject({
    type: z.literal('provider_down'),
    provider: named().optional().describe('Each provider by itself, unless given.'),
    above: percent()
      .default(90)
      .describe('Percent of the attempts that got no answer, or one with a status from 500 on.'),
    window: seconds(60, 900).default(120),
    min_calls: minimum(5),
  });

const keyExpiring = () =>
  z.strictObject({
    type: z.literal('key_expiring'),
    within: seconds(60, 366 * DAY_S)
      .default(7 * DAY_S)
      .describe('So many seconds before its end.'),
    of: oneOf({ api_key_id: named(), virtual_key: named() }).describe('All API keys and virtual keys, unless given.'),
  });

const queue = () =>
  z.strictObject({
    type: z.literal('queue'),
    older_than: seconds(1, 7 * DAY_S).describe('Work that is due has waited for so many seconds.'),
  });

const disk = () =>
  z.strictObject({ type: z.literal('disk'), free_below: percent().describe('Percent of a disk that are free.') });

const degraded = () =>
  z.strictObject({
    type: z.literal('degraded'),
    parts: z
      .array(z.enum(HEALTH_PARTS, { error: `give parts among ${HEALTH_PARTS.join(', ')}` }), { error: 'give a list' })
      .min(1, 'give at least one part')
      .optional()
      .describe('All parts that `/health` knows, unless given.'),
  });

export const condition = () =>
  z.discriminatedUnion(
    'type',
    [
      budget(),
      spendRate(),
      errorRate(),
      latency(),
      unpricedCalls(),
      breakerOpen(),
      providerDown(),
      keyExpiring(),
      queue(),
      disk(),
      degraded(),
    ],
    { error: `give one of ${TYPES.join(', ')}` },
  );

const TYPES = [
  'budget',
  'spend_rate',
  'error_rate',
  'latency',
  'unpriced_calls',
  'breaker_open',
  'provider_down',
  'key_expiring',
  'queue',
  'disk',
  'degraded',
] as const;

export type Condition = Checked<typeof condition>;
export type ConditionType = Condition['type'];
export type ConditionOf<Type extends ConditionType> = Extract<Condition, { type: Type }>;
export type Filter = NonNullable<ConditionOf<'spend_rate'>['filter']>;

/** These are about the whole installation, so that only a rule of the organisation may watch them. */
export const OF_INSTALLATION: ReadonlySet<ConditionType> = new Set(['queue', 'disk', 'degraded']);
/** These are seen by each node for itself. */
export const SEEN_BY_NODES: ReadonlySet<ConditionType> = new Set(['breaker_open', 'provider_down', 'disk', 'degraded']);
