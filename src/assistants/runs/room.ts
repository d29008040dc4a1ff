import { contextWindowOf } from '../../core/context-windows.ts';
import { mostTokens, type Tokens } from '../../core/tokens.ts';
import type { RunRow } from '../../storage/schema.ts';
import { failRun, RunEnds } from './failures.ts';
import type { Saying } from './history.ts';
import { bodyOf, type RunBody } from './run.ts';
import { trimmed } from './truncation.ts';

/** About what providers charge for a large picture. */
const IMAGE_TOKENS = 1_500;
/** Who speaks, and where a message begins and ends. */
const MESSAGE_TOKENS = 4;
/** What is left for the answer where the run does not say how long it may become. */
const ANSWER_TOKENS = 4_096;
/** No text that people write has more characters to a token. */
const MOST_CHARACTERS_PER_TOKEN = 8;

/** For a model whose window is unknown: more than nearly all take, and no more than a process can hold. */
const UNKNOWN_WINDOW = 2_000_000;

/** How many tokens a prompt may have: by the run's own budget, and by what the model takes. */
export interface Room {
  readonly budget: number;
  readonly window: number;
}

export function roomFor(run: RunRow): Room {
  const { model, max_prompt_tokens: most, max_completion_tokens: answer } = bodyOf(run);
  const whole = contextWindowOf(model) ?? UNKNOWN_WINDOW;
  const reserved = answer === null ? ANSWER_TOKENS : answer - run.completion_tokens;
  return {
    budget: most === null ? Number.POSITIVE_INFINITY : most - run.prompt_tokens,
    // However much is asked for: half of a window for the answer is plenty.
    window: whole - Math.min(Math.max(reserved, 0), Math.floor(whole / 2)),
  };
}

/** So many characters of a thread are read from either end. */
export const charactersFor = ({ budget, window }: Room): number =>
  Math.max(0, Math.min(budget, window)) * MOST_CHARACTERS_PER_TOKEN;

export interface Fitted {
  readonly kept: readonly Saying[];
  /** How many tokens the prompt has. Counted when it is asked for: most prompts fit by their mere length. */
  readonly tokens: () => Promise<number>;
}

/**
 * As much of the history as there is room for beside what must be sent. Throws what ends the run when even the newest
 * message does not fit.
 */
export async function fit(
  { fixed, history, body }: { fixed: readonly string[]; history: readonly Saying[]; body: RunBody },
  { budget, window }: Room,
  tokens: Tokens,
): Promise<Fitted> {
  const { model } = body;
  const around = fixed.length * MESSAGE_TOKENS;
  const sizes = async () => {
    const counts = await tokens.count(model, [fixed.join('\n'), ...history.map(({ text }) => text)]);
    const units = history.map((saying, index) => ({
      role: saying.role,
      saying,
      tokens: counts[index + 1]! + saying.images * IMAGE_TOKENS + MESSAGE_TOKENS,
    }));
    return { needed: counts[0]! + around, units };
  };
  const most =
    around +
    fixed.reduce((sum, text) => sum + mostTokens(text) + 1, 0) +
    history.reduce((sum, { text, images }) => sum + mostTokens(text) + images * IMAGE_TOKENS + MESSAGE_TOKENS, 0);
  if (most <= Math.min(budget, window)) {
    const count = async () => {
      const { needed, units } = await sizes();
      return units.reduce((sum, unit) => sum + unit.tokens, needed);
    };
    return { kept: history, tokens: count };
  }
  const { needed, units } = await sizes();
  const room = Math.min(budget, window) - needed;
  const kept = room < 0 ? null : trimmed(units, room);
  if (!kept) return tooLong(model, { budget, window });
  const total = kept.reduce((sum, unit) => sum + unit.tokens, needed);
  return { kept: kept.map(({ saying }) => saying), tokens: async () => total };
}

function tooLong(model: string, { budget, window }: Room): never {
  if (budget <= window) throw new RunEnds({ status: 'incomplete', reason: 'max_prompt_tokens' });
  return failRun(
    'invalid_prompt',
    `The instructions, tools and newest message leave no room: ${model} takes ${window} tokens beside its answer.`,
  );
}
