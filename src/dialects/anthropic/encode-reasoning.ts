import type { Effort, ModelRequest, Reasoning } from '../ir.ts';
import type { Losses } from '../losses.ts';
import { takesEffort } from './models.ts';
import type { OutputConfig, Thinking } from './wire.ts';

/** How much of the output limit an effort may use for thinking, on models that know only budgets. */
const SHARES: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 0.1,
  low: 0.2,
  medium: 0.5,
  high: 0.8,
  xhigh: 0.9,
  max: 0.95,
};
/** The vendor's least budget. */
const LEAST_BUDGET = 1_024;

/** How Claude is told to think, wherever it is served. */
export function encodeReasoning(
  { model, reasoning }: ModelRequest,
  limit: number,
  losses: Losses,
): { thinking?: Thinking; effort?: OutputConfig['effort'] } {
  if (!reasoning) return {};
  const { effort, mode } = reasoning;
  if (mode !== undefined) return { thinking: statedThinking(reasoning), effort: effort && knownEffort(effort, losses) };
  if (effort === undefined) return {};
  if (effort === 'none') {
    losses.changeSetting('reasoning.effort', 'sent as disabled thinking');
    return { thinking: { type: 'disabled' } };
  }
  if (takesEffort(model)) {
    losses.changeSetting('reasoning.effort', 'sent as adaptive thinking with that effort');
    return { thinking: { type: 'adaptive' }, effort: knownEffort(effort, losses) };
  }
  const budget_tokens = Math.max(LEAST_BUDGET, Math.floor(limit * SHARES[effort]));
  if (budget_tokens >= limit) {
    losses.hint('reasoning.effort', `thinking needs an output limit above ${LEAST_BUDGET} tokens`);
    return {};
  }
  losses.changeSetting('reasoning.effort', `sent as a thinking budget of ${budget_tokens} tokens`);
  return { thinking: { type: 'enabled', budget_tokens } };
}

function statedThinking({ mode, budgetTokens = LEAST_BUDGET, display }: Reasoning): Thinking {
  if (mode === 'off') return { type: 'disabled' };
  const shown = display === undefined ? {} : { display: display as 'summarized' };
  if (mode === 'adaptive') return { type: 'adaptive', ...shown };
  return { type: 'enabled', budget_tokens: budgetTokens, ...shown };
}

function knownEffort(effort: Effort, losses: Losses): OutputConfig['effort'] {
  if (effort !== 'none' && effort !== 'minimal') return effort;
  losses.changeSetting('reasoning.effort', 'sent as low, the least effort anthropic has');
  return 'low';
}
