import { error } from './entry.ts';

/** The gateway itself. */
export const gatewayErrors = {
  store_unavailable: error(
    503,
    () => 'The store does not answer at the moment. Nothing was changed; try again shortly.',
  ),
  analytics_too_slow: error(
    503,
    (seconds: number) =>
      `The figures could not be computed within ${seconds} seconds. Ask for a shorter time, or narrow it down with a filter such as provider or model.`,
  ),
  audit_log_in_doubt: error(
    503,
    () =>
      'The audit log lacks records that were there, so nothing can be changed until an operator has decided about it: see "gateway audit verify" and "gateway audit restart". Nothing was changed.',
  ),
  blob_store_unavailable: error(
    503,
    (why: string) => `Files cannot be read or written at the moment: ${why}. Nothing was changed; try again shortly.`,
  ),
  limits_unavailable: error(
    503,
    () => 'Limits cannot be checked at the moment. Nothing was sent; try again in a second.',
  ),
  shutting_down: error(503, () => 'This process is shutting down. Try again; another one will answer.'),
  internal_error: error(
    500,
    (requestId: string) => `Something failed inside the gateway. Quote request ${requestId} to its operator.`,
  ),
};
