import { fail } from '../core/errors.ts';
import type { Provider } from '../providers/provider.ts';

const FIELD = 'configurations.paid_by';

/** Whether calls of a virtual key are paid by the subscription of who calls, and not by a stored credential. */
export const isPaidByCaller = (configurations: Readonly<Record<string, unknown>>): boolean =>
  configurations.paid_by === 'caller';

/** Only where the provider takes a person's own `Authorization`, and nothing is stored that would pay instead. */
export function checkPaidByCaller(
  { name, takesSubscriptions }: Provider,
  configurations: Readonly<Record<string, unknown>>,
  hasKey: boolean,
): void {
  if (configurations.paid_by === undefined) return;
  if (!isPaidByCaller(configurations)) fail('invalid_request', FIELD, 'give "caller", or leave it out');
  if (!takesSubscriptions)
    fail('invalid_request', FIELD, `provider ${name} takes no subscription of who calls; anthropic and openai do`);
  if (hasKey) fail('invalid_request', 'key', 'give none where paid_by is "caller"');
}
