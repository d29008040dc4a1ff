import { kindOfStatus, statusOf } from '../failure.ts';
import type { Failure, FailureKind, JsonObject } from '../ir.ts';
import { isObject, objectIn, present, someTextIn } from '../json.ts';

const TYPES: Readonly<Record<FailureKind, string>> = {
  'invalid-request': 'invalid_request_error',
  authentication: 'authentication_error',
  billing: 'billing_error',
  permission: 'permission_error',
  'not-found': 'not_found_error',
  'too-large': 'request_too_large',
  'rate-limit': 'rate_limit_error',
  timeout: 'timeout_error',
  overloaded: 'overloaded_error',
  server: 'api_error',
};
const KINDS = new Map(Object.entries(TYPES).map(([kind, type]) => [type, kind as FailureKind]));

/** Without a status: an error that came inside a stream. */
export function decodeError(status: number | undefined, body: unknown): Failure {
  const error = objectIn(objectIn(body).error);
  const type = someTextIn(error.type);
  const kind = KINDS.get(type ?? '') ?? kindOfStatus(status ?? 500);
  return present<Failure>({
    kind,
    status: status ?? statusOf(kind),
    message: someTextIn(error.message) ?? plainMessage(body) ?? 'The provider gave no reason.',
    code: someTextIn(objectIn(error.details).error_code) ?? someTextIn(error.code) ?? type,
    raw: body,
  });
}

const plainMessage = (body: unknown): string | undefined =>
  isObject(body) ? someTextIn(body.message) : someTextIn(body)?.slice(0, 1_000);

export function encodeError({ kind, status, message, code }: Failure): { status: number; body: JsonObject } {
  const type = TYPES[kind];
  const error = code === undefined || code === type ? { type, message } : { type, message, code };
  return { status, body: { type: 'error', error, request_id: null } };
}
