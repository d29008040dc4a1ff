import type { OwnModelPackages } from './packages.ts';

/** What the thread of the embedding model is asked. */
export interface OwnModelQuestion extends OwnModelPackages {
  readonly text: string;
}

export type OwnModelReply =
  | { readonly id: number; readonly vector: readonly number[] }
  | { readonly id: number; readonly fault: string };
