import type { Effort, ModelRequest, Reasoning } from '../ir.ts';
import { present } from '../json.ts';
import type { Losses } from '../losses.ts';
import { thinksByLevel } from './models.ts';
import type { ThinkingConfig } from './wire.ts';

type Level = NonNullable<ThinkingConfig['thinkingLevel']>;

const LEVELS: Readonly<Record<Effort, Level>> = {
  none: 'MINIMAL',
  minimal: 'MINIMAL',
  low: 'LOW',
  medium: 'MEDIUM',
  high: 'HIGH',
  xhigh: 'HIGH',
  max: 'HIGH',
};

/** The budgets that the vendor's own chat endpoint gives to efforts on models that know only budgets. */
const BUDGETS: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 1_024,
  low: 1_024,
  medium: 8_192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
};
/** The model decides. */
const DYNAMIC = -1;

/** A level and a budget together are refused, so the more exact wish is sent. */
export function encodeThinking({ model, reasoning }: ModelRequest, losses: Losses): ThinkingConfig | undefined {
  if (!reasoning) return undefined;
  const made = thinksByLevel(model) ? byLevel(reasoning, losses) : byBudget(reasoning, losses);
  const isOff = reasoning.mode === 'off' || (reasoning.mode === undefined && reasoning.effort === 'none');
  return present<ThinkingConfig>({ includeThoughts: isOff ? undefined : reasoning.display !== 'omitted', ...made });
}

function byLevel({ mode, effort, budgetTokens }: Reasoning, losses: Losses): ThinkingConfig {
  if (mode === 'budget') return stated({ effort, budgetTokens }, losses);
  if (mode === 'off') {
    noEffort(effort, losses);
    losses.changeSetting('reasoning.mode', 'sent as the least thinking, because it cannot be turned off');
    return { thinkingLevel: 'MINIMAL' };
  }
  if (mode === 'adaptive') losses.hint('reasoning.mode', 'this model always decides by itself');
  if (effort === undefined) return {};
  const level = LEVELS[effort];
  if (level.toLowerCase() !== effort) losses.changeSetting('reasoning.effort', `sent as the level ${level}`);
  return { thinkingLevel: level };
}

function byBudget({ mode, effort, budgetTokens }: Reasoning, losses: Losses): ThinkingConfig {
  if (mode === 'budget') return stated({ effort, budgetTokens }, losses);
  if (mode === 'off') {
    noEffort(effort, losses);
    return { thinkingBudget: 0 };
  }
  if (mode === 'adaptive') losses.changeSetting('reasoning.mode', 'sent as a thinking budget');
  if (effort === undefined) return { thinkingBudget: DYNAMIC };
  losses.changeSetting('reasoning.effort', `sent as a thinking budget of ${BUDGETS[effort]} tokens`);
  return { thinkingBudget: BUDGETS[effort] };
}

function stated({ effort, budgetTokens = DYNAMIC }: Reasoning, losses: Losses): ThinkingConfig {
  noEffort(effort, losses);
  return { thinkingBudget: budgetTokens };
}

function noEffort(effort: Effort | undefined, losses: Losses) {
  if (effort !== undefined) losses.hint('reasoning.effort', 'the budget says it more exactly');
}
