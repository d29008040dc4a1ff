import { newObjectId } from '../core/object-ids.ts';

/** What is told of a rule. */
export const TELLINGS = ['alert.fired', 'alert.repeated', 'alert.over', 'alert.test'] as const;
export type TellingType = (typeof TELLINGS)[number];

/** Something that a rule has found, and that is named in the same way each time it is found. */
export interface Finding {
  /** Tells it from the other things the rule looks at. */
  readonly subject: string;
  /** Which of the rule's thresholds is reached, counted from 1. */
  readonly level: number;
  /** One sentence for people. */
  readonly summary: string;
  readonly value: number | null;
  readonly threshold: number | null;
}

export interface TellingData {
  readonly alert: { readonly id: string; readonly name: string; readonly condition: string };
  /** Null: the rule watches the whole organisation. */
  readonly workspace_id: string | null;
  readonly subject: string;
  readonly summary: string;
  readonly value: number | null;
  readonly threshold: number | null;
  /** Since when it holds. */
  readonly since: string;
  /** Of `alert.over`: why, where it is not that the condition holds no longer. */
  readonly reason?: string;
}

/** One message, the same for every channel: its id says which it is. */
export interface Telling {
  readonly id: string;
  readonly object: 'event';
  /** Seconds. */
  readonly created_at: number;
  readonly type: TellingType;
  readonly data: TellingData;
}

export const telling = (type: TellingType, data: TellingData, at: number): Telling => ({
  id: newObjectId('event', at),
  object: 'event',
  created_at: Math.floor(at / 1_000),
  type,
  data,
});

const WORDS: Readonly<Record<TellingType, string>> = {
  'alert.fired': 'Alert',
  'alert.repeated': 'Still on',
  'alert.over': 'Over',
  'alert.test': 'Test',
};

/** One line, for the subject of a mail and the head of a card. */
export const titleOf = ({ type, data }: Telling): string => `${WORDS[type]}: ${data.alert.name}`;

/** What people want to know beside the sentence. */
export const factsOf = ({ id, type, data }: Telling): [name: string, value: string][] => [
  ['Since', data.since],
  ...(data.value === null ? [] : [['Value', shown(data.value)] as [string, string]]),
  ...(data.threshold === null ? [] : [['Threshold', shown(data.threshold)] as [string, string]]),
  ...(data.reason === undefined ? [] : [['Why it is over', data.reason] as [string, string]]),
  ['Event', `${id} (${type})`],
];

const shown = (value: number): string => String(Number(value.toPrecision(6)));

/** What a test says. */
export const testTelling = (
  alert: TellingData['alert'],
  workspaceId: string | null,
  summary: string,
  at: number,
): Telling =>
  telling(
    'alert.test',
    {
      alert,
      workspace_id: workspaceId,
      subject: 'test',
      summary,
      value: null,
      threshold: null,
      since: new Date(at).toISOString(),
    },
    at,
  );
