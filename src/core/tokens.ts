import { plainModelName } from './context-windows.ts';
import { threadOnDemand } from './thread.ts';
import type { CountQuestion, CountReply } from './token-worker.ts';
import type { Encoding } from './tokenizer.ts';

/** How many tokens texts are to a model. */
export interface Tokens {
  /** One number for each text. Exact where the model's vocabulary is public, otherwise the estimate. */
  count(model: string, texts: readonly string[]): Promise<readonly number[]>;
  close(): void;
}

/** Whose vocabulary is public; `gpt-4` and `gpt-3.5` have an older one. */
const ENCODINGS: readonly (readonly [RegExp, Encoding])[] = [
  [/^(?:chatgpt-|gpt-oss|gpt-4o|gpt-4\.[15]|gpt-[5-9]|o[1-9](?:-|$)|codex-|text-embedding-4)/, 'o200k_base'],
  [/^(?:gpt-4|gpt-3\.5|text-embedding-)/, 'cl100k_base'],
];

export function encodingOf(model: string): Encoding | null {
  const name = plainModelName(model);
  return ENCODINGS.find(([pattern]) => pattern.test(name))?.[1] ?? null;
}

/**
 * For models whose vocabulary is not public: a token for 4 characters of ASCII, and for other scripts more, about 0.65 for
 * a character of two bytes and 1.05 for one of three. On the high side for most texts: too little would be refused.
 */
export function estimateTokens(text: string): number {
  const bytes = Buffer.byteLength(text);
  return Math.ceil(text.length / 4 + (bytes - text.length) * 0.4);
}

/** No tokenizer makes more tokens of a text than it has bytes, and no estimate says so: a bound that costs nothing. */
export const mostTokens = (text: string): number => Buffer.byteLength(text);

/** So much memory is not kept for a node that counts once an hour. */
const IDLE_MS = 60_000;

/** Counts in a thread that begins with the first question and ends when there are no more. */
export function createTokens({ workerUrl }: { workerUrl: string | URL }): Tokens {
  const thread = threadOnDemand<Omit<CountQuestion, 'id'>, CountReply, readonly number[]>({
    workerUrl,
    idleMs: IDLE_MS,
    read: ({ counts }) => counts,
    // A run is not to fail because it cannot be counted.
    unanswered: ({ texts }) => texts.map(estimateTokens),
  });
  return {
    async count(model, texts) {
      const encoding = encodingOf(model);
      if (!encoding || texts.length === 0) return texts.map(estimateTokens);
      return thread.ask({ encoding, texts });
    },
    close: thread.close,
  };
}
