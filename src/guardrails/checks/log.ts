import * as z from 'zod';
import { GatewayError } from '../../core/errors.ts';
import { check } from '../check.ts';
import { eventOf } from './call/event.ts';
import { address, headers, timeoutMs } from './parameters/address.ts';

export const log = check({
  id: 'default.log',
  passes:
    'always, after the call was sent to `logURL` without its headers; that it was not taken is an error, not a fault',
  on: ['input', 'output'],
  span: 'whole',
  judges: 'body',
  parameters: () => z.strictObject({ logURL: address(), headers: headers(), timeout: timeoutMs(5_000) }),
  secrets: ['headers'],
  addresses: ({ logURL }) => [logURL],
  run: async (facts, { logURL, headers, timeout }, { fetch }) => {
    try {
      const { ok, status } = await fetch(logURL, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(eventOf(facts)),
        timeoutMs: timeout,
      });
      return ok
        ? { verdict: true, data: { status } }
        : { verdict: true, data: { status }, error: `the log answered ${status}` };
    } catch (error) {
      const why = error instanceof GatewayError ? `: ${error.code}` : '';
      return { verdict: true, data: null, error: `the log did not answer${why}` };
    }
  },
});
