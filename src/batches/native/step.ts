import type { Principal } from '../../core/principal.ts';
import type { WorkHold, WorkTaken } from '../../limits/work-holds.ts';
import type { BatchRow } from '../../storage/schema.ts';
import type { NativeApi } from './api.ts';
import type { Provider } from './ask.ts';
import type { NativeDeps } from './deps.ts';
import type { ModelSize } from './sizes.ts';

/** How far a batch is at the provider. */
export type Step =
  | { readonly step: 'upload' }
  | CreateStep
  | {
      readonly step: 'poll';
      readonly job: string;
      readonly polls: number;
      readonly isCancelled: boolean;
      /** How often its results could not be read. */
      readonly unreadable?: number;
    };

export interface CreateStep {
  readonly step: 'create';
  readonly file: string | null;
  readonly model: string | null;
  /** The job may exist, though its answer never came. */
  readonly isAsked: boolean;
  /** It was asked for a second time, because the first answer did not tell. */
  readonly isRepeated?: boolean;
}

export type PollStep = Extract<Step, { step: 'poll' }>;

/** What is known of a batch that the provider carries out. */
export interface Native {
  readonly provider: string;
  readonly file?: string | null;
  readonly job?: string;
  /** Of the first request. */
  readonly model?: string | null;
  /** What its requests may take; null: it was not added up. */
  readonly sizes?: readonly ModelSize[] | null;
  /** What is held of limits until it has ended. */
  readonly hold?: WorkHold;
  /** What the answers that are home took, of those limits. */
  readonly taken?: WorkTaken;
}

export const nativeOf = ({ native }: Pick<BatchRow, 'native'>): Partial<Native> =>
  native === null ? {} : JSON.parse(native);

export const nativeWith = (batch: Pick<BatchRow, 'native'>, news: Partial<Native>): string =>
  JSON.stringify({ ...nativeOf(batch), ...news });

export interface Context {
  /** Who pays. */
  readonly who: Principal;
  readonly api: NativeApi;
  readonly provider: Provider;
  readonly deps: NativeDeps;
}
