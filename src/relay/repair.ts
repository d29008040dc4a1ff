import { fail, GatewayError } from '../core/errors.ts';
import type { Incoming } from '../http/upstream.ts';
import type { Exchange } from './call.ts';
import { UnfitAnswer } from './json-check.ts';
import { admit, type LimitDeps, takenBy } from './limits.ts';

export interface Asking {
  answer(incoming: Incoming): Promise<Incoming>;
  again(body: Uint8Array): Promise<Incoming>;
}

/**
 * The answer to a call for JSON in words. One that is not the JSON that was asked for is shown to the model once, with
 * its fault: that is a second call, which the limits admit like any other, and whose tokens are counted with the first's.
 */
export async function answeredInJson(
  exchange: Exchange,
  incoming: Incoming,
  { answer, again }: Asking,
  deps: LimitDeps,
): Promise<Incoming> {
  const { call, target, notes } = exchange;
  const provider = target.provider.name;
  try {
    return await answer(incoming);
  } catch (error) {
    if (!(error instanceof UnfitAnswer)) throw error;
    if (exchange.isRepair) return fail('answer_not_json', provider, error.message);
    const prepared = { ...exchange.prepared, body: { head: error.repair, rest: null } };
    // The first call is held until the second is admitted, or both could pass where there is room for one.
    const next = await admit(call, target, prepared, deps).catch((refusal) => {
      if (!(refusal instanceof GatewayError)) throw refusal;
      return fail('answer_not_json', provider, `${error.message}; the model was not asked again: ${refusal.message}`);
    });
    exchange.admission.settle(takenBy(call, target, deps.prices));
    exchange.isRepair = true;
    exchange.admission = next;
    Object.assign(notes, next.headers);
    notes['x-gateway-repaired'] = error.message.replace(/[^\x20-\x7e]/g, '?');
    const repaired = await again(error.repair);
    return repaired.status >= 400 ? repaired : answeredInJson(exchange, repaired, { answer, again }, deps);
  }
}
