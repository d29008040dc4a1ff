import { errorType } from '../../core/errors.ts';
import { kindOfStatus } from '../failure.ts';
import type { Failure, FailureKind, JsonObject } from '../ir.ts';
import { isObject, objectIn, present, someTextIn } from '../json.ts';

/** Names of failures that say more than the status, as OpenAI and those who copy it write them. */
const KINDS = new Map<string, FailureKind>([
  ['insufficient_quota', 'billing'],
  ['rate_limit_exceeded', 'rate-limit'],
  ['invalid_api_key', 'authentication'],
  ['model_not_found', 'not-found'],
  ['server_error', 'server'],
  ['overloaded_error', 'overloaded'],
]);

/**
 * Reads `{error: {message, type, param, code}}` and what compatible providers make of it: the same without `error`, a
 * bare text, `detail`. Without a status it came inside a stream.
 */
export function decodeError(status: number | undefined, body: unknown): Failure {
  const holder = objectIn(body);
  const error = isObject(holder.error) ? holder.error : holder;
  const code = nameIn(error.code) ?? nameIn(error.type);
  const known = KINDS.get(nameIn(error.code) ?? '') ?? KINDS.get(nameIn(error.type) ?? '');
  const stated = status ?? (typeof error.code === 'number' && error.code >= 400 && error.code < 600 ? error.code : 500);
  const message =
    someTextIn(error.message) ??
    someTextIn(holder.error) ??
    someTextIn(holder.detail) ??
    someTextIn(body)?.slice(0, 1_000);
  return present<Failure>({
    kind: known ?? kindOfStatus(stated),
    status: stated,
    message: message ?? 'The provider gave no reason.',
    code,
    param: someTextIn(error.param),
    raw: body,
  });
}

const nameIn = (value: unknown): string | undefined => (typeof value === 'number' ? String(value) : someTextIn(value));

export const encodeError = ({ status, message, code, param }: Failure): { status: number; body: JsonObject } => ({
  status,
  body: { error: { message, type: errorType(status), param: param ?? null, code: code ?? null } },
});
