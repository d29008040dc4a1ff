import { fail, GatewayError } from '../../core/errors.ts';
import type { NowOrLater } from '../../core/runtime/now-or-later.ts';
import type { Guardrails, Reach } from '../../guardrails/guardrails.ts';
import type { Configurations } from './configuration.ts';

export type ResolveGuardrail = Guardrails['resolve'];

/** Refuses guardrails that are not there, or cannot look at the side they are to look at. */
export async function checkGuardrails(reach: Reach, given: Configurations, resolve: ResolveGuardrail): Promise<void> {
  for (const side of ['input', 'output'] as const) {
    for (const [index, reference] of (given[`${side}_guardrails`] ?? []).entries()) {
      const where = `configurations.${side}_guardrails[${index}]`;
      const { on } = await found(() => resolve(reach, reference), where, reference);
      if (!on.has(side)) fail('invalid_request', where, `${reference} has no check that looks at the ${side}`);
    }
  }
}

async function found<Value>(resolve: () => NowOrLater<Value>, where: string, reference: string): Promise<Value> {
  try {
    return await resolve();
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'unknown_guardrail')
      fail('invalid_request', where, `there is no guardrail ${reference.slice(0, 80)} in this workspace`);
    throw error;
  }
}
