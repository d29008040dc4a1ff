import { threadOnDemand } from '../../../../core/thread.ts';
import type { Scale } from '../fusion.ts';
import { normalised } from '../quantised.ts';
import { findPackages, PACKAGES } from './packages.ts';
import type { OwnModelQuestion, OwnModelReply } from './requests.ts';
import { createTurns } from './turns.ts';

/** How stores remember that their vectors were made here. No provider is ever asked for a model of this name. */
export const OWN_MODEL = 'gateway/all-minilm-l6-v2';

/** The cosine of a question and its answer is 0.35 in the middle, that of a question and anything else 0.08. */
export const OWN_SCALE: Scale = { unlike: 0.1, alike: 0.5 };

export interface OwnModelOptions {
  /** Where the packages of the model are installed; null: beside the gateway, if anywhere. */
  readonly folder: string | null;
  readonly workerUrl: string | URL;
}

/** A small embedding model that runs in a thread of the gateway. */
export interface OwnModel {
  /** One vector of length one for each text; null for a text that has none. Questions that a search waits for come before chunks. */
  embed(texts: readonly string[], options: EmbedOptions): Promise<(Float32Array | null)[]>;
  close(): void;
}

export interface EmbedOptions {
  readonly isWaitedFor: boolean;
  readonly signal: AbortSignal;
}

/** The model holds some 230 MB while it is in use. */
const IDLE_MS = 300_000;
/** The model reads 256 pieces of words at once, of which one has four letters or so. */
const WINDOW = 1_000;
/** Longer texts than a chunk of the default size are read no further. */
const MOST_WINDOWS = 6;

/** Null: its packages are not installed. Throws when an operator has named a folder that has none. */
export function openOwnModel({ folder, workerUrl }: OwnModelOptions): OwnModel | null {
  const packages = findPackages(folder);
  if (!packages && folder !== null)
    throw new Error(
      `GATEWAY_EMBEDDINGS_FOLDER is "${folder}", and no embedding model is installed there: npm install --prefix ${folder} ${PACKAGES}`,
    );
  if (!packages) return null;
  const thread = threadOnDemand<OwnModelQuestion, OwnModelReply, readonly number[]>({
    workerUrl,
    idleMs: IDLE_MS,
    read: (reply) => {
      if ('vector' in reply) return reply.vector;
      throw new Error(reply.fault);
    },
    unanswered: () => {
      throw new Error('its thread has ended');
    },
  });
  const turns = createTurns();
  const embedOne = async (text: string, { isWaitedFor, signal }: EmbedOptions): Promise<Float32Array | null> => {
    const sum: number[] = [];
    for (const window of windowsOf(text)) {
      const vector = await turns.take(isWaitedFor, () => {
        signal.throwIfAborted();
        return thread.ask({ ...packages, text: window });
      });
      for (const [at, value] of vector.entries()) sum[at] = (sum[at] ?? 0) + value;
    }
    return normalised(sum);
  };
  return {
    embed: async (texts, options) => {
      const vectors: (Float32Array | null)[] = [];
      for (const text of texts) vectors.push(await embedOne(text, options));
      return vectors;
    },
    close: thread.close,
  };
}

/** A text in pieces that the model reads as a whole, cut between words. */
export function windowsOf(text: string): string[] {
  const windows: string[] = [];
  let rest = text.trim();
  while (rest !== '' && windows.length < MOST_WINDOWS) {
    const space = rest.length > WINDOW ? rest.lastIndexOf(' ', WINDOW) : rest.length;
    const end = space > WINDOW / 2 ? space : Math.min(WINDOW, rest.length);
    windows.push(rest.slice(0, end).toWellFormed());
    rest = rest.slice(end).trim();
  }
  return windows;
}
