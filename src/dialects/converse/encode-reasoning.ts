import { encodeReasoning as encodeClaudeReasoning } from '../anthropic/encode-reasoning.ts';
import { outputCap } from '../anthropic/models.ts';
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
  if (vendor === 'anthropic') return ofClaude(request, losses);
  if (vendor === 'amazon') return ofNova(reasoning, losses);
  if (vendor === 'openai') return ofGptOss(reasoning, losses);
  for (const name of ['effort', 'mode', 'budgetTokens', 'display'] as const)
    if (reasoning[name] !== undefined) losses.hint(`reasoning.${name}`, 'this model has no such setting');
  return {};
}

function ofClaude(request: ModelRequest, losses: Losses): EncodedReasoning {
  const { thinking, effort } = encodeClaudeReasoning(
    request,
    request.maxOutputTokens ?? outputCap(request.model),
    losses,
  );
  return present<EncodedReasoning>({ fields: thinking && { thinking }, effort });
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
