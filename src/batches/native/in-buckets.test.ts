import { describe, expect, test } from 'bun:test';
import type { NativeApi, NativeJob } from './api.ts';
import { modeOf } from './apis.ts';
import { bedrock } from './bedrock.ts';
import { vertex } from './vertex.ts';

const CHAT = '/v1/chat/completions';
const MESSAGES = '/v1/messages';
const bytes = (body: unknown) => Buffer.from(JSON.stringify(body));
const hello = (model: string, more: object = {}) =>
  bytes({ model, max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }], ...more });
const atVertex = {
  options: { vertex_project_id: 'acme', vertex_region: 'europe-west4' },
  storage: { uri: 'gs://acme-batches/gateway' },
};
const atBedrock = {
  options: { aws_region: 'us-west-2' },
  storage: { uri: 's3://acme-batches', role_arn: 'arn:aws:iam::123456789012:role/batches' },
};
const JOB = 'projects/1/locations/europe-west4/batchPredictionJobs/77';
const ARN = 'arn:aws:bedrock:us-west-2:123456789012:model-invocation-job/abc123def456';

describe('what is sent', () => {
  test('a chat completion becomes a request to Gemini, which carries its name as a label', () => {
    expect(JSON.parse(vertex.encodeLine('r7', hello('gemini-2.5-flash'), CHAT))).toEqual({
      request: {
        contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
        generationConfig: { maxOutputTokens: 5 },
        labels: { gateway_request: 'r7' },
      },
    });
  });

  test("Claude on Vertex gets Google's version and no model; messages keep every other byte", () => {
    const body = Buffer.from(
      '{"model":"anthropic.claude-sonnet-4-5","max_tokens":9,"messages":[],"x":12345678901234567890}',
    );
    const line = vertex.encodeLine('r1', body, MESSAGES);
    expect(line).toContain('"x":12345678901234567890');
    expect(JSON.parse(line)).toMatchObject({
      custom_id: 'r1',
      request: { max_tokens: 9, anthropic_version: 'vertex-2023-10-16' },
    });
    expect(JSON.parse(line).request).not.toHaveProperty('model');
    const chat = JSON.parse(vertex.encodeLine('r1', hello('anthropic.claude-sonnet-4-5'), CHAT));
    expect(chat.request).toMatchObject({ max_tokens: 5, anthropic_version: 'vertex-2023-10-16' });
    expect(chat.request).not.toHaveProperty('model');
  });

  test('Bedrock gets the format of Converse', () => {
    expect(JSON.parse(bedrock.encodeLine('r7', hello('amazon.nova-lite-v1:0'), CHAT))).toEqual({
      recordId: 'r7',
      modelInput: { messages: [{ role: 'user', content: [{ text: 'Hi' }] }], inferenceConfig: { maxTokens: 5 } },
    });
  });

  test('what would have to be fetched first, and what has no words there, is refused alone', () => {
    const picture = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
    const withPicture = (model: string) => hello(model, { messages: [{ role: 'user', content: [picture] }] });
    expect(() => bedrock.encodeLine('r1', withPicture('amazon.nova-lite-v1:0'), CHAT)).toThrow('by address');
    expect(() => bedrock.encodeLine('r1', hello('amazon.nova-lite-v1:0', { n: 2 }), CHAT)).toThrow('n');
    expect(() => vertex.encodeLine('r1', hello('meta.llama-4'), CHAT)).toThrow('no batches');
  });

  test('the job names our batch, its files, and the model that all requests have', () => {
    const job = {
      batchId: 'batch_1aB',
      endpoint: CHAT,
      file: 'gs://acme-batches/gateway/batch_1aB/input.jsonl',
    } as const;
    expect(vertex.create({ ...job, model: 'anthropic.claude-3-5@20240620', place: atVertex })).toEqual({
      method: 'POST',
      path: '/projects/acme/locations/europe-west4/batchPredictionJobs',
      body: {
        displayName: 'batch_1aB',
        model: 'publishers/anthropic/models/claude-3-5@20240620',
        inputConfig: { instancesFormat: 'jsonl', gcsSource: { uris: [job.file] } },
        outputConfig: {
          predictionsFormat: 'jsonl',
          gcsDestination: { outputUriPrefix: 'gs://acme-batches/gateway/batch_1aB/output' },
        },
      },
    });
    const file = 's3://acme-batches/batch_1aB/input.jsonl';
    expect(bedrock.create({ ...job, file, model: 'amazon.nova-lite-v1:0', place: atBedrock })).toEqual({
      method: 'POST',
      path: '/model-invocation-job',
      body: {
        jobName: 'batch-1aB',
        clientRequestToken: 'batch-1aB',
        roleArn: 'arn:aws:iam::123456789012:role/batches',
        modelId: 'amazon.nova-lite-v1:0',
        modelInvocationType: 'Converse',
        inputDataConfig: { s3InputDataConfig: { s3Uri: file, s3InputFormat: 'JSONL' } },
        outputDataConfig: { s3OutputDataConfig: { s3Uri: 's3://acme-batches/batch_1aB/' } },
        timeoutDurationInHours: 24,
      },
    });
  });
});

describe('what is said about jobs', () => {
  const states: [string, NativeApi, (status: string) => unknown, Record<string, NativeJob['state']>][] = [
    [
      'Vertex AI',
      vertex,
      (state) => ({ name: JOB, state }),
      {
        JOB_STATE_QUEUED: 'running',
        JOB_STATE_PENDING: 'running',
        JOB_STATE_RUNNING: 'running',
        JOB_STATE_UPDATING: 'running',
        JOB_STATE_PAUSED: 'running',
        JOB_STATE_CANCELLING: 'running',
        JOB_STATE_SUCCEEDED: 'ended',
        JOB_STATE_PARTIALLY_SUCCEEDED: 'ended',
        JOB_STATE_FAILED: 'failed',
        JOB_STATE_EXPIRED: 'expired',
        JOB_STATE_CANCELLED: 'cancelled',
      },
    ],
    [
      'Bedrock',
      bedrock,
      (status) => ({ jobArn: ARN, status }),
      {
        Submitted: 'running',
        Validating: 'running',
        Scheduled: 'running',
        InProgress: 'running',
        Stopping: 'running',
        Completed: 'ended',
        PartiallyCompleted: 'ended',
        Failed: 'failed',
        Expired: 'expired',
        Stopped: 'cancelled',
      },
    ],
  ];
  for (const [name, api, job, expected] of states)
    test(`every state of ${name} has its meaning, and any other is no answer`, () => {
      for (const [status, state] of Object.entries(expected)) expect(api.readJob(job(status)).state).toBe(state);
      expect(() => api.readJob(job('surprised'))).toThrow();
      expect(() => api.readJob({})).toThrow();
      expect(() => api.readJob(null)).toThrow();
    });

  test('a name that would lead elsewhere is no job', () => {
    expect(() => vertex.readJob({ name: 'projects/../secrets', state: 'JOB_STATE_RUNNING' })).toThrow();
    expect(() => bedrock.readJob({ jobArn: 'arn:x:model-invocation-job/../x', status: 'InProgress' })).toThrow();
  });

  test('results lie in the folder that was written, and faults come in the provider’s words', () => {
    const outputConfig = { gcsDestination: { outputUriPrefix: 'gs://b/batch_1/output' } };
    const gcsOutputDirectory = 'gs://b/batch_1/output/prediction-model-2026';
    const done = { name: JOB, state: 'JOB_STATE_SUCCEEDED', outputConfig };
    expect(vertex.readJob({ ...done, outputInfo: { gcsOutputDirectory } }).results).toEqual([`${gcsOutputDirectory}/`]);
    expect(vertex.readJob(done).results).toEqual(['gs://b/batch_1/output/']);
    expect(vertex.readJob({ ...done, state: 'JOB_STATE_RUNNING' }).results).toEqual([]);
    const failed = { name: JOB, state: 'JOB_STATE_FAILED', error: { code: 7, message: 'No permission' } };
    expect(vertex.readJob(failed).faults).toMatchObject([{ code: 'provider_error', message: 'No permission' }]);
    const outputDataConfig = { s3OutputDataConfig: { s3Uri: 's3://b/batch_1/' } };
    const completed = { jobArn: ARN, status: 'Completed', outputDataConfig };
    expect(bedrock.readJob(completed)).toMatchObject({ id: 'abc123def456', results: ['s3://b/batch_1/abc123def456/'] });
    expect(bedrock.readJob({ jobArn: ARN })).toMatchObject({ state: 'running', results: [] });
    expect(bedrock.readJob({ jobArn: ARN, status: 'Failed', message: 'Too few records' }).faults).toMatchObject([
      { message: 'Too few records' },
    ]);
  });

  test('a job that was made before a crash is found by our id', () => {
    const jobs = { batchPredictionJobs: [{ name: JOB, displayName: 'batch_1', state: 'JOB_STATE_RUNNING' }] };
    expect(vertex.found(jobs, 'batch_1', null).job?.id).toBe(JOB);
    expect(vertex.found({ ...jobs, nextPageToken: 'more' }, 'batch_2', null)).toEqual({ job: null, next: 'more' });
    const invocationJobSummaries = [{ jobArn: ARN, jobName: 'batch-1', status: 'InProgress' }];
    expect(bedrock.found({ invocationJobSummaries }, 'batch_1', null).job?.id).toBe('abc123def456');
    expect(bedrock.found({ invocationJobSummaries }, 'batch_2', null)).toEqual({ job: null, next: null });
    const job = { batchId: 'batch_1', endpoint: CHAT, model: null, file: null } as const;
    expect(vertex.list!({ ...job, place: atVertex }, null).search).toBe(
      '?pageSize=100&filter=display_name%3D%22batch_1%22',
    );
    expect(bedrock.list!({ ...job, place: atBedrock }, null).search).toBe('?maxResults=100&nameContains=batch-1');
  });
});

describe('what comes back', () => {
  const about = { endpoint: CHAT, model: 'the-model', now: 1_000 } as const;
  const responseOf = (api: NativeApi, line: unknown, context: typeof about | object = about) =>
    JSON.parse(api.readResult(line, { ...about, ...context })!.result.response!);

  test("Gemini's answers become chat completions, or messages, under the name of the request", () => {
    const response = {
      candidates: [{ content: { role: 'model', parts: [{ text: 'Good day' }] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
      modelVersion: 'gemini-2.5-flash',
    };
    const line = { status: '', processed_time: 'x', request: { labels: { gateway_request: 'r7' } }, response };
    expect(vertex.readResult(line, about)).toMatchObject({ name: 'r7', result: { isError: false, error: null } });
    expect(responseOf(vertex, line)).toMatchObject({
      status_code: 200,
      body: {
        object: 'chat.completion',
        choices: [{ message: { content: 'Good day' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 3, completion_tokens: 2 },
      },
    });
    expect(responseOf(vertex, line, { endpoint: MESSAGES }).body).toMatchObject({
      type: 'message',
      content: [{ type: 'text', text: 'Good day' }],
    });
  });

  test("Claude's messages on Vertex stay messages when those were asked for", () => {
    const message = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude',
      content: [{ type: 'text', text: 'Good day' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 1, output_tokens: 1 },
    };
    const line = { custom_id: 'r1', status: '', response: message };
    expect(responseOf(vertex, line, { endpoint: MESSAGES }).body).toEqual(message);
    expect(responseOf(vertex, line).body.choices[0].message.content).toBe('Good day');
  });

  test("Bedrock's answers become chat completions of the model that was asked", () => {
    const modelOutput = {
      output: { message: { role: 'assistant', content: [{ text: 'Good day' }] } },
      stopReason: 'end_turn',
      usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 },
    };
    expect(responseOf(bedrock, { recordId: 'r7', modelOutput }).body).toMatchObject({
      object: 'chat.completion',
      model: 'the-model',
      choices: [{ message: { content: 'Good day' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 3, completion_tokens: 2 },
    });
  });

  test('refusals keep their status and reason, and what says nothing is told apart', () => {
    const request = { labels: { gateway_request: 'r1' } };
    const status = 'Bad Request: {"error":{"code":400,"message":"No such thing","status":"INVALID_ARGUMENT"}}';
    const refused = responseOf(vertex, { status, request, response: {} });
    expect([refused.status_code, refused.body.error.message]).toEqual([400, 'No such thing']);
    const odd = responseOf(vertex, { status: 'It went wrong', request, response: {} });
    expect([odd.status_code, odd.body.error.message]).toEqual([500, 'It went wrong']);
    const error = { errorCode: 400, errorMessage: 'bad request' };
    const record = responseOf(bedrock, { recordId: 'r1', error });
    expect([record.status_code, record.body.error.message]).toEqual([400, 'bad request']);
    for (const [api, line] of [
      [vertex, { status: '', request }],
      [bedrock, { recordId: 'r1' }],
      [bedrock, { recordId: 'r1', modelOutput: { strange: true } }],
    ] as const) {
      const { result } = api.readResult(line, about)!;
      expect([result.isError, JSON.parse(result.error!).code]).toEqual([true, 'invalid_response']);
    }
    expect(vertex.readResult({ status: '' }, about)).toBeNull();
    expect(bedrock.readResult({ totalRecordCount: 3 }, about)).toBeNull();
  });
});

test('a virtual key needs a bucket, and one of the right kind', () => {
  const day = { endpoint: CHAT, completion_window: '24h' } as const;
  const key = (provider: string, configurations: object, customHost: string | null = null) => ({
    provider,
    customHost,
    configurations: configurations as Record<string, unknown>,
  });
  const vertexKey = { ...atVertex.options, batch_storage: atVertex.storage };
  const bedrockKey = { ...atBedrock.options, batch_storage: atBedrock.storage };
  expect(modeOf(day, key('vertex-ai', vertexKey))).toBe('native');
  expect(modeOf(day, key('bedrock', bedrockKey))).toBe('native');
  expect(modeOf(day, key('vertex-ai', atVertex.options))).toBe('managed');
  expect(modeOf({ ...day, endpoint: '/v1/embeddings' }, key('bedrock', bedrockKey))).toBe('managed');
  const refused = (configurations: object, param: string, customHost: string | null = null) => {
    const wanted = { ...configurations, batches: 'native' };
    expect(() => modeOf(day, key('vertex-ai', wanted, customHost))).toThrow(param);
  };
  refused(atVertex.options, 'batch_storage');
  refused({ ...vertexKey, batch_storage: atBedrock.storage }, 'gs://');
  refused({ ...vertexKey, vertex_project_id: undefined }, 'vertex_project_id');
  refused(vertexKey, 'endpoint', 'https://proxy.example');
  expect(() => modeOf(day, key('bedrock', { ...bedrockKey, batch_storage: { uri: 's3://b' } }))).toThrow('role_arn');
});
