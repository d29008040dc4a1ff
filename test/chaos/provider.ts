import type { Usage } from '../../src/core/usage.ts';
import { serve } from '../gateway.ts';

/** A request as the provider saw it. */
export interface Arrival {
  /** The model it asked for, which is different in each call: the name of the call everywhere. */
  readonly name: string;
  readonly at: number;
  /** What the provider says it took. */
  readonly usage: Usage;
}

export const PROMPT_TOKENS = 5;

export const tokens = (inputTokens: number, outputTokens: number): Usage => ({
  inputTokens,
  outputTokens,
  totalTokens: inputTokens + outputTokens,
});

/** Names that the price list takes for versions of one model, so that every call has a price. */
export const nameOf = (number: number): string => `gpt-4o-mini-v${number}`;

/** The simplest provider there can be: it writes down who came, takes its time, and answers as long as it was told. */
export function startCountingProvider(answerAfterMs: number) {
  const arrivals: Arrival[] = [];
  const { origin, stop } = serve(async (request) => {
    const { model, messages } = (await request.json()) as { model: string; messages: { content: string }[] };
    const answerTokens = Number(/\d+/.exec(messages[0]?.content ?? '')?.[0] ?? 0);
    const usage = {
      prompt_tokens: PROMPT_TOKENS,
      completion_tokens: answerTokens,
      total_tokens: PROMPT_TOKENS + answerTokens,
    };
    arrivals.push({ name: model, at: performance.now(), usage: tokens(PROMPT_TOKENS, answerTokens) });
    await Bun.sleep(answerAfterMs);
    const message = { role: 'assistant', content: 'Well.' };
    return Response.json({
      id: `chatcmpl-${arrivals.length}`,
      object: 'chat.completion',
      created: 1,
      model,
      choices: [{ index: 0, message, finish_reason: 'stop' }],
      usage,
    });
  });
  return { url: `${origin}/v1`, arrivals: arrivals as readonly Arrival[], stop };
}

export type CountingProvider = ReturnType<typeof startCountingProvider>;
