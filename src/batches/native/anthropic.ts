import { GatewayError } from '../../core/errors.ts';
import { dialects } from '../../dialects/index.ts';
import type { Endpoint } from '../batch.ts';
import { members, type NativeApi, type NativeJob, type NativeResult, segment, text } from './api.ts';

const STATUS_OF: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
};

function readJob(answer: unknown): NativeJob {
  const { id, processing_status: status } = members(answer);
  const name = text(id);
  if (!name || !['in_progress', 'canceling', 'ended'].includes(String(status)))
    throw new Error('the provider did not answer with a message batch');
  const hasEnded = status === 'ended';
  return {
    id: name,
    state: hasEnded ? 'ended' : 'running',
    results: hasEnded ? [`/messages/batches/${segment(name)}/results`] : [],
    faults: [],
  };
}

/** Chat completions are said as messages; messages stay as they are. */
function encoded(body: Uint8Array, endpoint: Endpoint): string {
  if (endpoint === '/v1/messages') return Buffer.from(body).toString();
  const request = dialects['openai-chat'].inbound!.decodeRequest(JSON.parse(Buffer.from(body).toString()));
  const { body: params, dropped } = dialects.anthropic.outbound!.encodeRequest(request);
  const refused = dropped.find(({ matters }) => matters);
  if (refused) throw new GatewayError('not_expressible', [refused.path, 'anthropic', refused.why]);
  return JSON.stringify(params);
}

function readResult(value: unknown, endpoint: Endpoint, now: number): NativeResult | null {
  const line = members(value);
  const name = text(line.custom_id);
  if (name === null) return null;
  const { type, message, error } = members(line.result);
  const answered = (status: number, body: unknown) => ({
    name,
    body,
    result: {
      isError: status >= 300,
      response: JSON.stringify({ status_code: status, request_id: text(members(error).request_id) ?? '', body }),
      error: null,
    },
  });
  const unanswered = (code: string, why: string) => ({
    name,
    body: null,
    result: { isError: true, response: null, error: JSON.stringify({ code, message: why }) },
  });
  if (type === 'succeeded') return answered(200, endpoint === '/v1/messages' ? message : asCompletion(message, now));
  if (type === 'errored') {
    const status = STATUS_OF[String(members(members(error).error).type)] ?? 500;
    return answered(status, endpoint === '/v1/messages' ? error : asError(status, error));
  }
  if (type === 'expired')
    return unanswered('batch_expired', 'This request could not be executed before the completion window expired.');
  if (type === 'canceled')
    return unanswered('batch_cancelled', 'This request was not executed because the batch was cancelled.');
  return unanswered('invalid_response', 'The provider gave a result that is not understood.');
}

function asCompletion(message: unknown, now: number): unknown {
  const reply = dialects.anthropic.outbound!.decodeReply(message);
  const model = text(members(message).model) ?? '';
  return dialects['openai-chat'].inbound!.encodeReply(reply, { request: { model }, id: '', now, isStrict: true }).body;
}

const asError = (status: number, error: unknown): unknown =>
  dialects['openai-chat'].inbound!.encodeError(dialects.anthropic.outbound!.decodeError(status, error)).body;

/** Message batches: requests stand in the call itself, and nothing of ours can be kept with the job. */
export const anthropic: NativeApi = {
  endpoints: ['/v1/messages', '/v1/chat/completions'],
  takes: 'inline',
  encodeLine: (name, body, endpoint) => `{"custom_id":${JSON.stringify(name)},"params":${encoded(body, endpoint)}}`,
  create: () => ({ method: 'POST', path: '/messages/batches' }),
  list: null,
  found: () => null,
  read: (id) => ({ method: 'GET', path: `/messages/batches/${segment(id)}` }),
  readJob,
  cancel: (id) => ({ method: 'POST', path: `/messages/batches/${segment(id)}/cancel` }),
  readResult,
};
