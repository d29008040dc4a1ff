import type { BodyOf } from '../../api/client.ts';
import type { Alert } from '../../api/types.d.ts';
import { formatDuration, formatMoney, formatNumber } from '../../design/format.ts';

export type Condition = Alert['condition'];
export type Kind = Condition['type'];
export type NewCondition = BodyOf<'/v1/alerts'>['condition'];

interface Amount {
  readonly name: string;
  readonly label: string;
  readonly start: number;
  readonly least: number;
  readonly most?: number;
  /** So many of the API's are one of the form's: seconds of a minute. */
  readonly per?: number;
  readonly help?: string;
}

interface KindFacts {
  readonly label: string;
  readonly about: string;
  readonly amounts: readonly Amount[];
  /** Whether it counts only some calls, when told which. */
  readonly isFiltered?: boolean;
  /** About the installation: only for the whole organisation. */
  readonly isWide?: boolean;
}

const window: Amount = { name: 'window', label: 'Within minutes', start: 10, least: 1, most: 44_640, per: 60 };
const calls: Amount = { name: 'min_calls', label: 'From so many calls on', start: 20, least: 1 };

/** What can be watched, in the order in which it is offered. */
export const KINDS: Readonly<Record<Kind, KindFacts>> = {
  budget: {
    label: 'A budget runs low',
    about: 'Every budget of keys, providers, workspaces and policies, at each of these percentages.',
    amounts: [],
  },
  error_rate: {
    label: 'Calls fail',
    about: 'Told when more than this share of the calls has failed.',
    amounts: [{ name: 'above', label: 'More than percent', start: 5, least: 0, most: 100 }, window, calls],
    isFiltered: true,
  },
  latency: {
    label: 'Calls are slow',
    about: 'Told when a percentile of the durations is above this.',
    amounts: [{ name: 'above', label: 'Longer than ms', start: 10_000, least: 1 }, window, calls],
    isFiltered: true,
  },
  spend_rate: {
    label: 'Spend is fast',
    about: 'Told when calls cost more than this within the time.',
    amounts: [
      { name: 'above', label: 'More than dollars', start: 20, least: 0 },
      { ...window, start: 60 },
    ],
    isFiltered: true,
  },
  provider_down: {
    label: 'A provider is down',
    about: 'Told when attempts get no answer or a 5xx, also where a fallback answers the call.',
    amounts: [
      { name: 'above', label: 'More than percent', start: 90, least: 0, most: 100 },
      { ...window, start: 2, most: 15 },
      { ...calls, start: 5 },
    ],
  },
  breaker_open: {
    label: 'A circuit breaker opens',
    about: 'Told when a config skips a target because it failed too often.',
    amounts: [{ name: 'calm', label: 'Over after seconds', start: 60, least: 0 }],
  },
  key_expiring: {
    label: 'A key ends soon',
    about: 'API keys and virtual keys; told once more when one has ended.',
    amounts: [{ name: 'within', label: 'Days before', start: 7, least: 1, per: 86_400 }],
  },
  unpriced_calls: {
    label: 'Calls have no known price',
    about: 'Cost budgets do not see such calls.',
    amounts: [
      { name: 'above', label: 'More than calls', start: 0, least: 0 },
      { ...window, start: 60 },
    ],
    isFiltered: true,
  },
  queue: {
    label: 'Background work waits',
    about: 'Batches, runs or ingestion that no node does.',
    amounts: [{ name: 'older_than', label: 'Minutes', start: 5, least: 1, per: 60 }],
    isWide: true,
  },
  disk: {
    label: 'The disk is nearly full',
    about: 'The disk with the data directory, on some node.',
    amounts: [{ name: 'free_below', label: 'Less than percent free', start: 10, least: 1, most: 99 }],
    isWide: true,
  },
  degraded: {
    label: 'A part is degraded',
    about: 'What the page Health would say, on some node.',
    amounts: [],
    isWide: true,
  },
};

export const KIND_NAMES = Object.keys(KINDS) as readonly Kind[];

/** What a form holds; numbers as they are typed. */
export interface ConditionDraft {
  readonly kind: Kind;
  readonly amounts: Readonly<Record<string, string>>;
  readonly thresholds: string;
  readonly percentile: '50' | '90' | '99';
  readonly failedBy: '' | 'client' | 'gateway' | 'provider';
  readonly model: string;
  readonly virtualKey: string;
  readonly provider: string;
  readonly keyId: string;
}

export const startOf = (kind: Kind): ConditionDraft => ({
  kind,
  amounts: Object.fromEntries(KINDS[kind].amounts.map(({ name, start }) => [name, String(start)])),
  thresholds: '50, 80, 100',
  percentile: '99',
  failedBy: '',
  ...{ model: '', virtualKey: '', provider: '', keyId: '' },
});

export function draftOf(condition: Condition): ConditionDraft {
  const given = condition as Readonly<Record<string, unknown>>;
  const filter = (given.filter ?? {}) as Readonly<Record<string, string | undefined>>;
  const amounts = KINDS[condition.type].amounts.map(({ name, per = 1, start }) => [
    name,
    String(typeof given[name] === 'number' ? (given[name] as number) / per : start),
  ]);
  return {
    ...startOf(condition.type),
    amounts: Object.fromEntries(amounts),
    ...(condition.type === 'budget' && { thresholds: condition.thresholds.join(', ') }),
    ...(condition.type === 'latency' && { percentile: String(condition.percentile) as ConditionDraft['percentile'] }),
    ...(condition.type === 'error_rate' && { failedBy: condition.failed_by ?? '' }),
    model: filter.model ?? '',
    virtualKey: filter.virtual_key ?? '',
    provider: filter.provider ?? (condition.type === 'provider_down' ? (condition.provider ?? '') : ''),
    keyId: filter.api_key_id ?? '',
  };
}

/** As the API takes it. What the form does not show, such as `of` of a budget, is taken over from before. */
export function conditionOf(draft: ConditionDraft, before: Condition | null): NewCondition {
  const amounts = KINDS[draft.kind].amounts.map(({ name, per = 1 }) => [name, Number(draft.amounts[name]) * per]);
  const filter = {
    ...(draft.model && { model: draft.model }),
    ...(draft.virtualKey && { virtual_key: draft.virtualKey }),
    ...(draft.provider && { provider: draft.provider }),
    ...(draft.keyId && { api_key_id: draft.keyId }),
  };
  const same = before?.type === draft.kind ? before : null;
  return {
    type: draft.kind,
    ...Object.fromEntries(amounts),
    ...(draft.kind === 'budget' && { thresholds: draft.thresholds.split(',').map(Number) }),
    ...(draft.kind === 'latency' && { percentile: Number(draft.percentile) }),
    ...(draft.kind === 'error_rate' && draft.failedBy && { failed_by: draft.failedBy }),
    ...(KINDS[draft.kind].isFiltered && Object.keys(filter).length > 0 && { filter }),
    ...(draft.kind === 'provider_down' && draft.provider && { provider: draft.provider }),
    ...(same && 'of' in same && same.of && { of: same.of }),
    ...(same && 'config' in same && same.config && { config: same.config }),
    ...(same && 'parts' in same && same.parts && { parts: same.parts }),
  } as NewCondition;
}

const within = (seconds: number) => `within ${formatDuration(seconds * 1_000)}`;

function onlyOf(condition: Condition): string {
  const filter = 'filter' in condition ? condition.filter : undefined;
  const names = Object.values(filter ?? {}).filter(Boolean);
  return names.length > 0 ? `, only of ${names.join(', ')}` : '';
}

/** A condition as a sentence. */
export function words(condition: Condition): string {
  switch (condition.type) {
    case 'budget':
      return `A budget has reached ${condition.thresholds.join(', ')} percent`;
    case 'spend_rate':
      return `Calls cost more than ${formatMoney(condition.above)} ${within(condition.window)}${onlyOf(condition)}`;
    case 'error_rate':
      return `More than ${condition.above} % of calls fail${condition.failed_by ? ` by the ${condition.failed_by}` : ''} ${within(condition.window)}${onlyOf(condition)}`;
    case 'latency':
      return `p${condition.percentile} is above ${formatDuration(condition.above)} ${within(condition.window)}${onlyOf(condition)}`;
    case 'unpriced_calls':
      return `More than ${formatNumber(condition.above)} calls have no price ${within(condition.window)}${onlyOf(condition)}`;
    case 'breaker_open':
      return `A circuit breaker${condition.config ? ` of ${condition.config}` : ''} is open`;
    case 'provider_down':
      return `${condition.provider ?? 'A provider'} fails more than ${condition.above} % of attempts ${within(condition.window)}`;
    case 'key_expiring':
      return `A key ends within ${Math.round(condition.within / 86_400)} days`;
    case 'queue':
      return `Background work waits longer than ${formatDuration(condition.older_than * 1_000)}`;
    case 'disk':
      return `Less than ${condition.free_below} % of the disk is free`;
    case 'degraded':
      return `${condition.parts?.join(', ') ?? 'Any part'} is degraded`;
  }
}
