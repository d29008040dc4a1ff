import { kindOfStatus } from '../failure.ts';
import type { Failure } from '../ir.ts';
import { isObject, objectIn, present, someTextIn } from '../json.ts';

/** Reads `{id, message}`; gateways before it answer `{error: …}` or a page. Without a status it came inside a stream. */
export function decodeError(status: number | undefined, body: unknown): Failure {
  const holder = objectIn(body);
  const stated = status ?? 500;
  const message =
    someTextIn(holder.message) ??
    someTextIn(objectIn(holder.error).message) ??
    someTextIn(holder.error) ??
    (isObject(body) ? undefined : someTextIn(body)?.slice(0, 1_000));
  return present<Failure>({
    kind: kindOfStatus(stated),
    status: stated,
    message: message ?? 'The provider gave no reason.',
    code: someTextIn(holder.code) ?? someTextIn(holder.type),
    raw: body,
  });
}

/** The model's own failure, told by the reason for which it stopped; null when it did not fail. */
export function stopFailure(finish: string | undefined, why: string | undefined): Failure | null {
  if (finish === 'TIMEOUT')
    return { kind: 'timeout', status: 504, message: why ?? 'The model ran out of time.', code: finish };
  if (finish !== 'ERROR') return null;
  return { kind: 'server', status: 500, message: why ?? 'The model failed while it answered.', code: finish };
}
