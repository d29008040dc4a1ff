import { kindOfStatus, statusOf } from '../failure.ts';
import type { Failure, FailureKind, JsonObject } from '../ir.ts';
import { isObject, objectIn, objectsIn, present, someTextIn } from '../json.ts';

/** The words of Google's APIs. */
const KINDS = new Map<string, FailureKind>([
  ['INVALID_ARGUMENT', 'invalid-request'],
  ['FAILED_PRECONDITION', 'invalid-request'],
  ['OUT_OF_RANGE', 'invalid-request'],
  ['UNAUTHENTICATED', 'authentication'],
  ['PERMISSION_DENIED', 'permission'],
  ['NOT_FOUND', 'not-found'],
  ['RESOURCE_EXHAUSTED', 'rate-limit'],
  ['DEADLINE_EXCEEDED', 'timeout'],
  ['UNAVAILABLE', 'overloaded'],
  ['INTERNAL', 'server'],
  ['UNKNOWN', 'server'],
]);

/** A key that is wrong is an invalid argument here. */
const WRONG_KEYS = new Set(['API_KEY_INVALID', 'API_KEY_EXPIRED']);

const WORDS: Readonly<Record<FailureKind, string>> = {
  'invalid-request': 'INVALID_ARGUMENT',
  authentication: 'UNAUTHENTICATED',
  billing: 'FAILED_PRECONDITION',
  permission: 'PERMISSION_DENIED',
  'not-found': 'NOT_FOUND',
  'too-large': 'INVALID_ARGUMENT',
  'rate-limit': 'RESOURCE_EXHAUSTED',
  timeout: 'DEADLINE_EXCEEDED',
  overloaded: 'UNAVAILABLE',
  server: 'INTERNAL',
};

/** The field that is blamed and the code stand where Google's clients look for them. */
export function encodeError({ kind, status, message, code, param }: Failure): { status: number; body: JsonObject } {
  const details = [
    ...(code === undefined ? [] : [{ '@type': `${TYPES}ErrorInfo`, reason: code, domain: 'gateway' }]),
    ...(param === undefined
      ? []
      : [{ '@type': `${TYPES}BadRequest`, fieldViolations: [{ field: param, description: message }] }]),
  ];
  const error = { code: status, message, status: WORDS[kind], ...(details.length > 0 && { details }) };
  return { status, body: { error } };
}

const TYPES = 'type.googleapis.com/google.rpc.';

/** Streams tell their errors in a list. Without a status it came inside a stream. */
export function decodeError(status: number | undefined, body: unknown): Failure {
  const holder = Array.isArray(body) ? body.find(isObject) : body;
  const error = objectIn(objectIn(holder).error);
  const details = objectsIn(error.details);
  const code = reasonIn(details) ?? someTextIn(error.status);
  const named = code && WRONG_KEYS.has(code) ? 'authentication' : KINDS.get(someTextIn(error.status) ?? '');
  const stated = status ?? httpStatus(error.code) ?? (named && statusOf(named)) ?? 500;
  return present<Failure>({
    kind: named ?? kindOfStatus(stated),
    status: stated,
    message: someTextIn(error.message) ?? plainMessage(holder) ?? 'The provider gave no reason.',
    code,
    param: fieldIn(details),
    raw: body,
  });
}

const httpStatus = (code: unknown): number | undefined =>
  typeof code === 'number' && code >= 400 && code < 600 ? code : undefined;

const reasonIn = (details: readonly JsonObject[]): string | undefined =>
  details.map((detail) => someTextIn(detail.reason)).find((reason) => reason !== undefined);

const fieldIn = (details: readonly JsonObject[]): string | undefined =>
  details
    .flatMap((detail) => objectsIn(detail.fieldViolations))
    .map((violation) => someTextIn(violation.field))
    .find((field) => field !== undefined);

function plainMessage(body: unknown): string | undefined {
  if (!isObject(body)) return someTextIn(body)?.slice(0, 1_000);
  return someTextIn(body.error) ?? someTextIn(body.error_description) ?? someTextIn(body.message);
}
