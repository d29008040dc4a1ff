import { kindOfStatus, statusOf } from '../failure.ts';
import type { Failure, FailureKind } from '../ir.ts';
import { isObject, objectIn, present, someTextIn } from '../json.ts';

const KINDS = new Map<string, FailureKind>([
  ['ValidationException', 'invalid-request'],
  ['AccessDeniedException', 'permission'],
  ['UnrecognizedClientException', 'authentication'],
  ['InvalidSignatureException', 'authentication'],
  ['ExpiredTokenException', 'authentication'],
  ['IncompleteSignatureException', 'authentication'],
  ['MissingAuthenticationTokenException', 'authentication'],
  ['ResourceNotFoundException', 'not-found'],
  ['ThrottlingException', 'rate-limit'],
  ['ServiceQuotaExceededException', 'rate-limit'],
  ['ModelNotReadyException', 'overloaded'],
  ['ServiceUnavailableException', 'overloaded'],
  ['ModelTimeoutException', 'timeout'],
  ['ModelErrorException', 'server'],
  ['ModelStreamErrorException', 'server'],
  ['InternalServerException', 'server'],
]);

/**
 * Reads `{message}`, spelled either way, with its type where the body names it. In a stream, the frame does: `type` is
 * the `throttlingException` of its name, and there is no status.
 */
export function decodeError(status: number | undefined, body: unknown, type?: string): Failure {
  const error = objectIn(body);
  const code = codeOf(type ?? someTextIn(error.__type) ?? someTextIn(error.code));
  const named = KINDS.get(code ?? '');
  // What the model itself answered says more than that the model failed.
  const original = status === undefined && named === 'server' ? statusIn(error.originalStatusCode) : undefined;
  const stated = status ?? original ?? (named && statusOf(named)) ?? 500;
  return present<Failure>({
    kind: original === undefined && named ? named : kindOfStatus(stated),
    status: stated,
    message: messageIn(body) ?? 'The provider gave no reason.',
    code,
    raw: body,
  });
}

const statusIn = (value: unknown): number | undefined =>
  typeof value === 'number' && value >= 400 && value < 600 ? value : undefined;

/** `com.amazon.coral.service#AccessDeniedException`, `throttlingException`, `ValidationException:http://…`. */
function codeOf(type: string | undefined): string | undefined {
  const name = type?.slice(type.lastIndexOf('#') + 1).split(':')[0];
  return name ? name[0]!.toUpperCase() + name.slice(1) : undefined;
}

function messageIn(body: unknown): string | undefined {
  if (!isObject(body)) return someTextIn(body)?.slice(0, 1_000);
  const own = someTextIn(body.message) ?? someTextIn(body.Message) ?? someTextIn(body.originalMessage);
  // Proxies before the service answer in a form of their own.
  return own ?? someTextIn(objectIn(body.error).message) ?? someTextIn(body.error);
}
