import { isObject } from '../dialects/json.ts';

/** What an answer's probabilities say: the tokens that were chosen, put together, and those that were not. */
export interface TokenTexts {
  readonly chosen: string;
  readonly others: string;
}

const CHOSEN = new Set(['content', 'refusal', 'tokens', 'chosenCandidates']);

/** Of OpenAI's `logprobs` in both forms, Gemini's `logprobsResult`, and whatever is built like them. */
export function tokenTexts(value: unknown): TokenTexts {
  let chosen = '';
  const others = new Set<string>();
  const walk = (inner: unknown, key: string, isChosen: boolean) => {
    if (typeof inner === 'string') {
      if (isChosen) chosen += inner;
      else others.add(inner);
    } else if (Array.isArray(inner)) {
      for (const each of inner) walk(each, key, isChosen);
    } else if (isObject(inner)) {
      for (const [name, each] of Object.entries(inner)) {
        // The older form has the tokens that were not chosen as names of members.
        if (typeof each === 'number' && key === 'top_logprobs' && name !== 'logprob') others.add(name);
        const isOwn = name === 'token' ? isChosen : CHOSEN.has(name);
        walk(each, name, typeof each === 'string' && name !== 'token' ? false : isOwn);
      }
    }
  };
  walk(value, '', Array.isArray(value));
  return { chosen, others: others.size > 0 ? `${[...others].join('\n')}\n` : '' };
}
