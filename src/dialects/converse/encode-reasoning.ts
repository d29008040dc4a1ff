import { outputCap, takesEffort } from '../anthropic/models.ts';
import type { Effort, JsonObject, ModelRequest, Reasoning } from '../ir.ts';
import { present } from '../json.ts';
import type { Losses } from '../losses.ts';
import type { Vendor } from './models.ts';

/** Reasoning is the models' own affair here: each vendor has fields of its own for it. */
export interface EncodedReasoning {
  readonly fields?: JsonObject;
  readonly effort?: string;
}

export function encodeReasoning(request: ModelRequest, vendor: Vendor, losses: Losses): EncodedReasoning {
  const { reasoning } = request;
  if (!reasoning) return {};
  if (vendor === 'anthropic') return ofClaude(request, reasoning, losses);
  if (vendor === 'amazon') return ofNova(reasoning, losses);
  if (vendor === 'openai') return ofGptOss(reasoning, losses);
  for (const name of ['effort', 'mode', 'budgetTokens', 'display'] as const)
    if (reasoning[name] !== undefined) losses.hint(`reasoning.${name}`, 'this model has no such setting');
  return {};
}

/** Shares of the output limit for models that know only budgets, and the vendor's least budget. */
const SHARES: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 0.1,
  low: 0.2,
  medium: 0.5,
  high: 0.8,
  xhigh: 0.9,
  max: 0.95,
};
const LEAST_BUDGET = 1_024;

function ofClaude(request: ModelRequest, reasoning: Reasoning, losses: Losses): EncodedReasoning {
  const { effort, mode, budgetTokens = LEAST_BUDGET, display } = reasoning;
  const shown = present({ display });
  const stated = effort && claudeEffort(effort, losses);
  if (mode === 'off') return { fields: { thinking: { type: 'disabled', ...shown } }, effort: stated };
  if (mode === 'adaptive') return { fields: { thinking: { type: 'adaptive', ...shown } }, effort: stated };
  if (mode === 'budget')
    return { fields: { thinking: { type: 'enabled', budget_tokens: budgetTokens, ...shown } }, effort: stated };
  if (effort === undefined) return {};
  if (effort === 'none') {
    losses.changeSetting('reasoning.effort', 'sent as disabled thinking');
    return { fields: { thinking: { type: 'disabled' } } };
  }
  if (takesEffort(request.model)) {
    losses.changeSetting('reasoning.effort', 'sent as adaptive thinking with that effort');
    return { fields: { thinking: { type: 'adaptive' } }, effort: stated };
  }
  return byBudget(request, effort, losses);
}

function byBudget({ model, maxOutputTokens }: ModelRequest, effort: Effort, losses: Losses): EncodedReasoning {
  const limit = maxOutputTokens ?? outputCap(model);
  const budget_tokens = Math.max(LEAST_BUDGET, Math.floor(limit * SHARES[effort]));
  if (budget_tokens >= limit) {
    losses.hint('reasoning.effort', `thinking needs an output limit above ${LEAST_BUDGET} tokens`);
    return {};
  }
  losses.changeSetting('reasoning.effort', `sent as a thinking budget of ${budget_tokens} tokens`);
  return { fields: { thinking: { type: 'enabled', budget_tokens } } };
}

function claudeEffort(effort: Effort, losses: Losses): string {
  if (effort !== 'none' && effort !== 'minimal') return effort;
  losses.changeSetting('reasoning.effort', 'sent as low, the least effort there is');
  return 'low';
}

function ofNova({ effort, mode, budgetTokens, display }: Reasoning, losses: Losses): EncodedReasoning {
  if (budgetTokens !== undefined) losses.hint('reasoning.budgetTokens', 'this model knows only efforts');
  if (display !== undefined) losses.hint('reasoning.display', 'this model has no such setting');
  if (mode === 'off' || effort === 'none') {
    if (effort === 'none') losses.changeSetting('reasoning.effort', 'sent as disabled reasoning');
    else if (effort !== undefined) losses.hint('reasoning.effort', 'reasoning is off');
    return { fields: { reasoningConfig: { type: 'disabled' } } };
  }
  if (mode !== undefined) losses.hint('reasoning.mode', 'this model knows only efforts');
  const maxReasoningEffort = effort && threeLevels(effort, losses);
  return { fields: { reasoningConfig: present({ type: 'enabled', maxReasoningEffort }) } };
}

function ofGptOss({ effort, mode, budgetTokens, display }: Reasoning, losses: Losses): EncodedReasoning {
  if (mode !== undefined) losses.hint('reasoning.mode', 'this model knows only efforts');
  if (budgetTokens !== undefined) losses.hint('reasoning.budgetTokens', 'this model knows only efforts');
  if (display !== undefined) losses.hint('reasoning.display', 'this model has no such setting');
  return effort === undefined ? {} : { fields: { reasoning_effort: threeLevels(effort, losses) } };
}

function threeLevels(effort: Effort, losses: Losses): 'low' | 'medium' | 'high' {
  if (effort === 'low' || effort === 'medium' || effort === 'high') return effort;
  const level = effort === 'none' || effort === 'minimal' ? 'low' : 'high';
  losses.changeSetting('reasoning.effort', `sent as ${level}`);
  return level;
}
