import { objectIn, parsed, textIn } from '../../dialects/json.ts';
import { asGatewayError } from '../../http/reply.ts';
import { RoundFailed } from './loop.ts';

export interface ResponseFailure {
  readonly code: string;
  readonly message: string;
}

/** Why a response failed, in the vendor's words. */
export async function failureOf(
  error: unknown,
  requestId: string,
  report: (requestId: string, error: unknown) => void,
): Promise<ResponseFailure> {
  if (error instanceof RoundFailed) {
    const told = objectIn(objectIn(parsed(await error.response.text())).error);
    const code = error.response.status === 429 ? 'rate_limit_exceeded' : 'server_error';
    return { code, message: textIn(told.message) ?? error.message };
  }
  const failure = asGatewayError(error, requestId);
  if (failure.code === 'internal_error') report(requestId, error);
  return { code: 'server_error', message: failure.message };
}
