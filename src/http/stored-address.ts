import { fail, GatewayError } from '../core/errors.ts';
import type { EgressPolicy } from './egress.ts';

/** Checks an address that is going to be stored; a refusal names the field it was given in. */
export async function checkStoredAddress(egress: EgressPolicy, url: string, field: string): Promise<void> {
  try {
    await egress.admit(url);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    // A name that does not resolve at this moment may do so tomorrow; an address that is forbidden stays so.
    if (error.code !== 'egress_refused') return;
    const [host, rule] = error.facts as [string, string];
    fail('egress_refused', host, rule, field);
  }
}
