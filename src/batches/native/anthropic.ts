import {
  answered,
  members,
  type NativeApi,
  type NativeJob,
  type NativeResult,
  type ResultContext,
  segment,
  text,
  unanswered,
} from './api.ts';
import { retold, retoldError, speaks, translated } from './translation.ts';

const DIALECT = 'anthropic';

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

function readResult(value: unknown, context: ResultContext): NativeResult | null {
  const line = members(value);
  const name = text(line.custom_id);
  if (name === null) return null;
  const { type, message, error } = members(line.result);
  switch (type) {
    case 'succeeded':
      return retold(name, message, DIALECT, context);
    case 'errored': {
      const status = STATUS_OF[String(members(members(error).error).type)] ?? 500;
      if (!speaks(context.endpoint, DIALECT))
        return retoldError(name, { code: status, error }, DIALECT, context.endpoint);
      return answered(name, status, error, text(members(error).request_id) ?? '');
    }
    case 'expired':
      return unanswered(
        name,
        'batch_expired',
        'This request could not be executed before the completion window expired.',
      );
    case 'canceled':
      return unanswered(name, 'batch_cancelled', 'This request was not executed because the batch was cancelled.');
    default:
      return unanswered(name, 'invalid_response', 'The provider gave a result that is not understood.');
  }
}

/** Message batches: requests stand in the call itself, and nothing of ours can be kept with the job. */
export const anthropic: NativeApi = {
  endpoints: ['/v1/messages', '/v1/chat/completions'],
  takes: 'inline',
  encodeLine: (name, body, endpoint) => {
    // Messages stay as they are.
    const params = speaks(endpoint, DIALECT)
      ? Buffer.from(body).toString()
      : JSON.stringify(translated(body, endpoint, DIALECT, 'anthropic'));
    return `{"custom_id":${JSON.stringify(name)},"params":${params}}`;
  },
  create: () => ({ method: 'POST', path: '/messages/batches' }),
  list: null,
  found: () => ({ job: null, next: null }),
  read: (id) => ({ method: 'GET', path: `/messages/batches/${segment(id)}` }),
  readJob,
  cancel: (id) => ({ method: 'POST', path: `/messages/batches/${segment(id)}/cancel` }),
  readResult,
  leftovers: ({ job }) => (job ? [`/messages/batches/${segment(job.id)}`] : []),
};
