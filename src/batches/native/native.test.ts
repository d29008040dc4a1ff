import { describe, expect, test } from 'bun:test';
import type { BatchStatus } from '../batch.ts';
import { usageIn } from '../usage.ts';
import { anthropic } from './anthropic.ts';
import type { NativeApi, NativeJob } from './api.ts';
import { modeOf, nativeProviders } from './apis.ts';
import { mistral } from './mistral.ts';
import { azureOpenai, groq, openai } from './openai.ts';

const CHAT = '/v1/chat/completions';
const place = { options: {}, storage: null };
const about = { endpoint: CHAT, model: null, now: 0 } as const;
const body = Buffer.from('{"model":"m","messages":[{"role":"user","content":"Hi"}],"seed":12345678901234567890}');

describe('what is sent', () => {
  test('OpenAI and Groq get the body byte for byte, Azure a path without version', () => {
    const line = `{"custom_id":"r7","method":"POST","url":"/v1/chat/completions","body":${body}}`;
    expect(openai.encodeLine('r7', body, CHAT)).toBe(line);
    expect(groq.encodeLine('r7', body, CHAT)).toBe(line);
    expect(JSON.parse(azureOpenai.encodeLine('r7', body, CHAT)).url).toBe('/chat/completions');
  });

  test('Mistral gets name and body, and the model with the job', () => {
    expect(mistral.encodeLine('r7', body, CHAT)).toBe(`{"custom_id":"r7","body":${body}}`);
    expect(mistral.create({ batchId: 'batch_1', endpoint: CHAT, model: 'm', file: 'f', place })).toEqual({
      method: 'POST',
      path: '/batch/jobs',
      body: {
        input_files: ['f'],
        endpoint: CHAT,
        model: 'm',
        timeout_hours: 24,
        metadata: { gateway_batch_id: 'batch_1' },
      },
    });
  });

  test('OpenAI gets the job with our id in it', () => {
    expect(openai.create({ batchId: 'batch_1', endpoint: CHAT, model: 'm', file: 'f', place })).toEqual({
      method: 'POST',
      path: '/batches',
      body: {
        input_file_id: 'f',
        endpoint: CHAT,
        completion_window: '24h',
        metadata: { gateway_batch_id: 'batch_1' },
      },
    });
  });

  test('Anthropic gets messages as they are, chat completions translated, and what it has no words for is refused', () => {
    const messages = Buffer.from('{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[],"x":12345678901234567890}');
    expect(anthropic.encodeLine('r1', messages, '/v1/messages')).toBe(`{"custom_id":"r1","params":${messages}}`);
    const { custom_id, params } = JSON.parse(
      anthropic.encodeLine(
        'r1',
        Buffer.from(
          '{"model":"claude-sonnet-4-5","max_tokens":5,"messages":[{"role":"system","content":"Be kind"},{"role":"user","content":"Hi"}]}',
        ),
        CHAT,
      ),
    );
    expect(custom_id).toBe('r1');
    expect(params).toMatchObject({ model: 'claude-sonnet-4-5', max_tokens: 5, messages: [{ role: 'user' }] });
    expect(JSON.stringify(params.system)).toContain('Be kind');
    const several = Buffer.from('{"model":"claude-sonnet-4-5","n":2,"messages":[{"role":"user","content":"Hi"}]}');
    expect(() => anthropic.encodeLine('r1', several, CHAT)).toThrow('n');
  });
});

describe('what is said about jobs', () => {
  const states: [string, NativeApi, (status: string) => unknown, Record<string, NativeJob['state']>][] = [
    [
      'OpenAI',
      openai,
      (status) => ({ id: 'b', status, output_file_id: 'o', error_file_id: null }),
      {
        validating: 'running',
        in_progress: 'running',
        finalizing: 'running',
        cancelling: 'running',
        completed: 'ended',
        failed: 'failed',
        expired: 'expired',
        cancelled: 'cancelled',
      } satisfies Record<BatchStatus, NativeJob['state']>,
    ],
    [
      'Mistral',
      mistral,
      (status) => ({ id: 'b', status, output_file: 'o', error_file: null }),
      {
        QUEUED: 'running',
        RUNNING: 'running',
        SUCCESS: 'ended',
        FAILED: 'failed',
        TIMEOUT_EXCEEDED: 'expired',
        CANCELLATION_REQUESTED: 'running',
        CANCELLED: 'cancelled',
      },
    ],
    [
      'Anthropic',
      anthropic,
      (status) => ({ id: 'b', processing_status: status }),
      { in_progress: 'running', canceling: 'running', ended: 'ended' },
    ],
  ];
  for (const [name, api, job, expected] of states)
    test(`every state of ${name} has its meaning, and any other is no answer`, () => {
      for (const [status, state] of Object.entries(expected)) expect(api.readJob(job(status)).state).toBe(state);
      expect(() => api.readJob(job('surprised'))).toThrow();
      expect(() => api.readJob({})).toThrow();
      expect(() => api.readJob(null)).toThrow();
    });

  test('results lie where each provider keeps them', () => {
    const job = { id: 'b', status: 'completed', output_file_id: 'o/1', error_file_id: 'e' };
    expect(openai.readJob(job).results).toEqual(['/files/o%2F1/content', '/files/e/content']);
    const jobs = { id: 'b', status: 'SUCCESS', output_file: 'o', error_file: 'e' };
    expect(mistral.readJob(jobs).results).toEqual(['/files/o/content', '/files/e/content']);
    expect(anthropic.readJob({ id: 'msgbatch_1', processing_status: 'ended' }).results).toEqual([
      '/messages/batches/msgbatch_1/results',
    ]);
  });

  test('faults of the provider come with their line', () => {
    const data = [{ code: 'model_not_found', message: 'No such model', param: 'body.model', line: 3 }];
    expect(openai.readJob({ id: 'b', status: 'failed', errors: { data } }).faults).toEqual(data);
  });

  test('a job that was made before a crash is found by our id', () => {
    const ours = { id: 'theirs', status: 'in_progress', metadata: { gateway_batch_id: 'batch_1' } };
    const listed = { data: [{ id: 'x', status: 'completed', metadata: null }, ours] };
    expect(openai.found(listed, 'batch_1', null).job?.id).toBe('theirs');
    expect(openai.found({ ...listed, has_more: true }, 'batch_2', null)).toEqual({ job: null, next: 'theirs' });
    expect(openai.list!({ batchId: 'batch_1', endpoint: CHAT, model: 'm', file: 'f', place }, 'theirs').search).toBe(
      '?limit=100&after=theirs',
    );
    const jobs = { data: [{ id: 'm', status: 'QUEUED', metadata: { gateway_batch_id: 'batch_1' } }] };
    expect(mistral.found(jobs, 'batch_1', null).job?.id).toBe('m');
    const page = { data: Array.from({ length: 100 }, () => ({ id: 'x', status: 'QUEUED', metadata: null })) };
    expect(mistral.found(page, 'batch_1', '1')).toEqual({ job: null, next: '2' });
  });

  test('an answer that is no list is not taken for an empty one', () => {
    for (const answer of [{}, { error: 'later' }, { data: 'none' }])
      expect(() => openai.found(answer, 'batch_1', null)).toThrow('a list of jobs');
    expect(() => mistral.found({ data: {} }, 'batch_1', null)).toThrow('a list of jobs');
  });
});

describe('what comes back', () => {
  test('answers, refusals and requests that were never made are told apart', () => {
    const read = (line: unknown) => openai.readResult(line, about);
    const response = { status_code: 200, request_id: 'req_1', body: { id: 'c' } };
    expect(read({ id: 'x', custom_id: 'r1', response, error: null })).toEqual({
      name: 'r1',
      body: { id: 'c' },
      result: { isError: false, response: JSON.stringify(response), error: null },
    });
    expect(read({ custom_id: 'r1', response: { ...response, status_code: 400 }, error: null })?.result.isError).toBe(
      true,
    );
    const error = { code: 'batch_expired', message: 'too late' };
    expect(read({ custom_id: 'r1', response: null, error })?.result).toEqual({
      isError: true,
      response: null,
      error: JSON.stringify(error),
    });
    expect(read({ nothing: true })).toBeNull();
    // Mistral gives no id of the request.
    const bare = mistral.readResult({ custom_id: 'r1', response: { status_code: 200, body: {} }, error: null }, about);
    expect(JSON.parse(bare!.result.response!)).toEqual({ status_code: 200, request_id: '', body: {} });
  });

  test("Anthropic's messages stay messages when those were asked for", () => {
    const message = { id: 'msg_1', type: 'message', content: [], usage: { input_tokens: 1, output_tokens: 1 } };
    const read = (result: unknown) =>
      anthropic.readResult({ custom_id: 'r1', result }, { ...about, endpoint: '/v1/messages' })!.result;
    expect(JSON.parse(read({ type: 'succeeded', message }).response!)).toMatchObject({
      status_code: 200,
      body: message,
    });
    const error = { type: 'error', error: { type: 'invalid_request_error', message: 'bad' } };
    expect(JSON.parse(read({ type: 'errored', error }).response!)).toMatchObject({ status_code: 400, body: error });
    expect(JSON.parse(read({ type: 'canceled' }).error!).code).toBe('batch_cancelled');
    expect(JSON.parse(read({ type: 'new' }).error!).code).toBe('invalid_response');
  });

  test('what was used is found in the words of each API', () => {
    expect(
      usageIn({ usage: { prompt_tokens: 5, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 3 } } }),
    ).toEqual({
      inputTokens: 5,
      outputTokens: 2,
      totalTokens: 7,
      cachedInputTokens: 3,
    });
    expect(usageIn({ usage: { input_tokens: 5, output_tokens: 2, cache_read_input_tokens: 10 } })).toEqual({
      inputTokens: 15,
      outputTokens: 2,
      totalTokens: 17,
      cachedInputTokens: 10,
    });
    expect(usageIn({ error: {} })).toBeNull();
  });
});

test('the provider carries a batch out only when it can, has a day, and is the provider itself or was asked for', () => {
  const key = (provider: string, customHost: string | null, batches?: string) => ({
    provider,
    customHost,
    configurations: batches ? { batches } : {},
  });
  const day = { endpoint: CHAT, completion_window: '24h' } as const;
  for (const provider of ['openai', 'azure-openai', 'anthropic', 'mistral-ai', 'groq']) {
    expect(nativeProviders).toContain(provider);
    expect(modeOf(day, key(provider, null))).toBe('native');
    expect(modeOf(day, key(provider, 'https://proxy.example'))).toBe('managed');
    expect(modeOf(day, key(provider, 'https://proxy.example', 'native'))).toBe('native');
    expect(modeOf(day, key(provider, null, 'managed'))).toBe('managed');
    expect(modeOf({ ...day, completion_window: 'immediate' }, key(provider, null, 'native'))).toBe('managed');
  }
  expect(modeOf(day, key('deepseek', null))).toBe('managed');
  expect(modeOf({ ...day, endpoint: '/v1/responses' }, key('groq', null))).toBe('managed');
  expect(() => modeOf(day, key('deepseek', null, 'native'))).toThrow('no batch API');
});
