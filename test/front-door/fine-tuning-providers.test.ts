import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { LLMock } from '@copilotkit/aimock';
import { startGateway, type TestGateway } from '../gateway.ts';
import { eventually } from '../process.ts';
import { type Recorded, startRecorder } from '../recorder.ts';
import { openaiClient } from '../sdk-clients.ts';

const LINES = '{"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello"}]}\n'.repeat(10);
const JOBS = '/v1/fine_tuning/jobs';

let gateway: TestGateway;
const provider = startRecorder();
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(async () => {
  await gateway.stop();
  provider.stop();
});

async function upload(): Promise<string> {
  const form = new FormData();
  form.set('purpose', 'fine-tune');
  form.set('file', new File([LINES], 'a.jsonl'));
  return (await gateway.api.post('/v1/files', form)).json.id;
}

/** Each call gets the next answer, and the last one from then on. */
const inTurn = (...answers: unknown[]) => {
  let next = 0;
  return () => Response.json(answers[Math.min(next++, answers.length - 1)]);
};

/** Answers by method and path; what is not foreseen is a 404. */
const answering = (routes: Record<string, (request: Recorded) => Response>) => {
  provider.requests.length = 0;
  provider.answers((request) => {
    const path = request.path.split('?')[0];
    return routes[`${request.method} ${path}`]?.(request) ?? Response.json({ message: 'unforeseen' }, { status: 404 });
  });
};

const sent = (method: string, path: string) =>
  provider.requests.filter((each) => each.method === method && each.path.split('?')[0] === path);

async function finished(slug: string, body: Record<string, unknown>) {
  const headers = { 'x-gateway-virtual-key': slug };
  const created = await gateway.api.post(JOBS, body, { headers });
  expect([created.status, created.json.status ?? created.text]).toEqual([200, 'validating_files']);
  const path = `${JOBS}/${created.json.id}`;
  let job = created.json;
  await eventually('the job ends', async () => {
    job = (await gateway.api.get(path, { headers })).json;
    return job.finished_at !== null;
  });
  const events = (await gateway.api.get(`${path}/events`, { headers })).json.data;
  return { job, messages: events.map(({ message }: { message: string }) => message) };
}

describe('Vertex AI', () => {
  const path = '/v1/projects/acme/locations/europe-west4/tuningJobs';
  const body = { model: 'gemini-2.0-flash-001', training_file: 'gs://tuning/a.jsonl', suffix: 'mine' };
  beforeAll(() =>
    gateway.given.virtualKey({
      slug: 'vertex',
      provider: 'vertex-ai',
      key: 'access-token',
      custom_host: `${provider.origin}/v1`,
      configurations: { vertex_region: 'europe-west4', vertex_project_id: 'acme' },
    }),
  );

  test('a job with files in a bucket is created, followed and shown as any other', async () => {
    const name = 'projects/1/locations/europe-west4/tuningJobs/8765';
    answering({
      [`POST ${path}`]: inTurn({ name, state: 'JOB_STATE_PENDING' }),
      [`GET ${path}/8765`]: inTurn(
        { name, state: 'JOB_STATE_RUNNING', tuningJobState: 'TUNING_JOB_STATE_TUNING' },
        { name, state: 'JOB_STATE_RUNNING', tuningJobState: 'TUNING_JOB_STATE_TUNING' },
        {
          name,
          state: 'JOB_STATE_SUCCEEDED',
          tunedModel: { endpoint: 'projects/1/endpoints/7', checkpoints: [{ checkpointId: '1', step: '10' }] },
          tuningDataStats: { supervisedTuningDataStats: { totalBillableTokenCount: '1234' } },
        },
      ),
    });
    const { job, messages } = await finished('vertex', body);

    expect(job).toMatchObject({
      status: 'succeeded',
      fine_tuned_model: 'projects/1/endpoints/7',
      trained_tokens: 1234,
      result_files: [],
      training_file: 'gs://tuning/a.jsonl',
    });
    expect(messages).toEqual([
      'The job has successfully completed',
      'New fine-tuned model created: projects/1/endpoints/7',
      'Fine-tuning job started',
      'Files validated, moving job to queued state',
      'Validating training file: gs://tuning/a.jsonl',
      `Created fine-tuning job: ${job.id}`,
    ]);
    const [creation, ...others] = sent('POST', path);
    expect(others).toEqual([]);
    expect(creation!.headers.get('authorization')).toBe('Bearer access-token');
    expect(creation!.json).toMatchObject({
      baseModel: 'gemini-2.0-flash-001',
      supervisedTuningSpec: { trainingDatasetUri: 'gs://tuning/a.jsonl' },
      tunedModelDisplayName: 'mine',
    });
    const checkpoints = await gateway.api.get(`${JOBS}/${job.id}/checkpoints`, {
      headers: { 'x-gateway-virtual-key': 'vertex' },
    });
    expect(checkpoints.json.data).toHaveLength(1);
  });

  test('what it cannot do, or cannot be sent, is refused at once', async () => {
    const headers = { 'x-gateway-virtual-key': 'vertex' };
    const file = await upload();
    for (const [change, code, param] of [
      [{ training_file: file }, 'invalid_provider_option', 'configurations.fine_tuning.storage_uri'],
      [{ training_file: 's3://b/a.jsonl' }, 'invalid_value', 'training_file'],
      [{ seed: 1 }, 'not_expressible', 'seed'],
      [{ novel: true }, 'unknown_parameter', 'novel'],
    ] as const) {
      const reply = await gateway.api.post(JOBS, { ...body, ...change }, { headers });
      expect([reply.status, reply.json.error.code, reply.json.error.param]).toEqual([400, code, param]);
    }
  });

  test('a cancellation that takes its time shows as running until it is done', async () => {
    const name = 'projects/1/locations/europe-west4/tuningJobs/9';
    let isCancelling = false;
    answering({
      [`POST ${path}`]: inTurn({ name }),
      [`GET ${path}/9`]: () =>
        Response.json({ name, state: isCancelling ? 'JOB_STATE_CANCELLING' : 'JOB_STATE_RUNNING' }),
      [`POST ${path}/9:cancel`]: () => {
        isCancelling = true;
        return Response.json({});
      },
    });
    const headers = { 'x-gateway-virtual-key': 'vertex' };
    const { id } = (await gateway.api.post(JOBS, body, { headers })).json;
    const read = async () => (await gateway.api.get(`${JOBS}/${id}`, { headers })).json.status;
    await eventually('it runs', async () => (await read()) === 'running');
    expect((await gateway.api.call('POST', `${JOBS}/${id}/cancel`, { headers })).json.status).toBe('running');
    answering({ [`GET ${path}/9`]: inTurn({ name, state: 'JOB_STATE_CANCELLED' }) });
    await eventually('it is cancelled', async () => (await read()) === 'cancelled');
    const pause = await gateway.api.call('POST', `${JOBS}/${id}/pause`, { headers });
    expect([pause.status, pause.json.error.code]).toEqual([400, 'fine_tuning_job_state']);
  });
});

test('Amazon Bedrock: a job is signed, named by our id, and told by its failure', async () => {
  const host = provider.origin;
  await gateway.given.virtualKey({
    slug: 'bedrock',
    provider: 'bedrock',
    key: 'AKIAFAKEFAKEFAKEFAKE:not-a-secret',
    custom_host: host,
    configurations: {
      aws_region: 'us-west-2',
      fine_tuning: { storage_uri: 's3://tuning/jobs', role_arn: 'arn:aws:iam::123456789012:role/tuning' },
    },
  });
  provider.requests.length = 0;
  provider.answers(({ method, path }) => {
    if (method === 'POST' && path === '/model-customization-jobs') return Response.json({ jobArn: 'arn:x' });
    return Response.json({ status: 'Failed', failureMessage: 'Line 2 is broken.' });
  });
  const { job, messages } = await finished('bedrock', {
    model: 'amazon.nova-micro-v1:0',
    training_file: 's3://bucket/a.jsonl',
  });

  expect(job).toMatchObject({
    status: 'failed',
    error: { code: 'job_failed', message: 'Line 2 is broken.', param: null },
    trained_tokens: null,
  });
  expect(messages[0]).toBe('Line 2 is broken.');
  const [creation] = sent('POST', '/model-customization-jobs');
  expect(creation!.headers.get('authorization')).toStartWith('AWS4-HMAC-SHA256 Credential=AKIAFAKEFAKEFAKEFAKE/');
  expect(creation!.json).toMatchObject({ jobName: job.id, clientRequestToken: job.id });
  expect(sent('GET', `/model-customization-jobs/${job.id}`).length).toBeGreaterThan(0);
});

test('Fireworks: the file becomes a dataset, which is waited for, and the job is named by our id', async () => {
  await gateway.given.virtualKey({
    slug: 'fireworks',
    provider: 'fireworks-ai',
    custom_host: `${provider.origin}/v1`,
    configurations: { fine_tuning: { account_id: 'acme' } },
  });
  provider.requests.length = 0;
  const states = ['UPLOADING', 'READY'];
  provider.answers(({ method, path }) => {
    if (method === 'POST' && path.endsWith('/datasets')) return Response.json({ name: 'x' });
    if (method === 'POST' && path.endsWith(':upload')) return Response.json({});
    if (method === 'GET' && path.includes('/datasets/')) return Response.json({ state: states.shift() ?? 'READY' });
    if (method === 'POST') return Response.json({ name: 'accounts/acme/supervisedFineTuningJobs/x' });
    return Response.json({ state: 'JOB_STATE_COMPLETED', outputModel: 'accounts/acme/models/m' });
  });
  const training_file = await upload();
  const { job } = await finished('fireworks', { model: 'llama-v3p1-8b-instruct', training_file });

  expect(job).toMatchObject({ status: 'succeeded', fine_tuned_model: 'accounts/acme/models/m', training_file });
  const uploads = provider.requests.filter(({ path }) => path.endsWith(':upload'));
  expect(uploads).toHaveLength(1);
  expect(uploads[0]!.text).toContain(LINES);
  const [creation, ...others] = provider.requests.filter(({ path }) => path.includes('supervisedFineTuningJobId='));
  expect(others).toEqual([]);
  expect(creation!.json).toMatchObject({
    baseModel: 'accounts/fireworks/models/llama-v3p1-8b-instruct',
    dataset: expect.stringMatching(/^accounts\/acme\/datasets\/gw-[0-9a-f]{32}$/),
  });
});

test('Azure OpenAI: the file is waited for before the job is made, and the version is in the address', async () => {
  await gateway.given.virtualKey({
    slug: 'azure',
    provider: 'azure-openai',
    custom_host: `${provider.origin}/openai`,
    configurations: { azure_resource_name: 'acme', azure_api_version: '2024-10-21' },
  });
  provider.requests.length = 0;
  const states = ['pending', 'processed'];
  provider.answers(({ method, path }) => {
    if (method === 'POST' && path.startsWith('/openai/files'))
      return Response.json({ id: 'file-azure', status: 'pending' });
    if (path.startsWith('/openai/files/file-azure')) return Response.json({ status: states.shift() ?? 'processed' });
    if (method === 'POST') return Response.json({ id: 'ftjob-azure', status: 'pending' });
    if (path.includes('/events'))
      return Response.json({
        data: [{ id: 'e1', created_at: 1, message: 'Job ftjob-azure of file-azure', level: 'info' }],
      });
    if (path.includes('/checkpoints')) return Response.json({}, { status: 404 });
    return Response.json({ id: 'ftjob-azure', status: 'succeeded', fine_tuned_model: 'm.ft-1', trained_tokens: 5 });
  });
  const training_file = await upload();
  const hyperparameters = { n_epochs: 2 };
  const { job, messages } = await finished('azure', { model: 'gpt-4o-mini', training_file, hyperparameters });

  expect(job).toMatchObject({ status: 'succeeded', fine_tuned_model: 'm.ft-1', trained_tokens: 5 });
  expect(job.hyperparameters.n_epochs).toBe(2);
  expect(messages[0]).toBe(`Job ${job.id} of ${training_file}`);
  const [creation] = sent('POST', '/openai/fine_tuning/jobs');
  expect(creation!.path).toBe('/openai/fine_tuning/jobs?api-version=2024-10-21');
  expect(creation!.json).toMatchObject({ training_file: 'file-azure', hyperparameters });
  const order = provider.requests.map(({ method, path }) => `${method} ${path.split('?')[0]}`);
  expect(order.slice(0, 4)).toEqual([
    'POST /openai/files',
    'GET /openai/files/file-azure',
    'GET /openai/files/file-azure',
    'POST /openai/fine_tuning/jobs',
  ]);
});

test('a provider that others have written: the whole life of a job, and a cancellation', async () => {
  const mock = await LLMock.create({ port: 0, host: '127.0.0.1' });
  try {
    const { origin } = new URL(mock.url);
    await gateway.given.virtualKey({ slug: 'mock', custom_host: `${origin}/v1` });
    const training_file = await upload();
    const { job, messages } = await finished('mock', { model: 'gpt-4o-mini', training_file, suffix: 'mine' });
    expect(job).toMatchObject({ status: 'succeeded', training_file, error: null });
    expect(job.fine_tuned_model).toContain('mine');
    expect(messages.at(-1)).toBe(`Created fine-tuning job: ${job.id}`);

    const headers = { 'x-gateway-virtual-key': 'mock' };
    const { id } = (await gateway.api.post(JOBS, { model: 'gpt-4o-mini', training_file }, { headers })).json;
    expect((await gateway.api.call('POST', `${JOBS}/${id}/cancel`, { headers })).json.status).toBe('cancelled');
  } finally {
    await mock.stop();
  }
});

test('OpenAI: graders and permissions of checkpoints are its own, and are reached as they are', async () => {
  await gateway.given.virtualKey({ slug: 'grader', provider: 'openai', custom_host: `${provider.origin}/v1` });
  const { key } = await gateway.given.apiKey({ defaults: { virtual_key: 'grader' } });
  const openai = openaiClient(gateway.url, key);
  const permission = { id: 'cp_1', object: 'checkpoint.permission', created_at: 1, project_id: 'proj_1' };
  answering({
    'POST /v1/fine_tuning/alpha/graders/run': () => Response.json({ reward: 1 }),
    'POST /v1/fine_tuning/alpha/graders/validate': ({ json }) => Response.json(json),
    'POST /v1/fine_tuning/checkpoints/ft:m:ckpt/permissions': () =>
      Response.json({ object: 'list', data: [permission], has_more: false }),
  });
  const grader = {
    type: 'string_check',
    name: 'same',
    input: '{{sample.output_text}}',
    reference: 'a',
    operation: 'eq',
  };

  expect(await openai.fineTuning.alpha.graders.run({ grader, model_sample: 'a' } as never)).toMatchObject({
    reward: 1,
  });
  expect(await openai.fineTuning.alpha.graders.validate({ grader } as never)).toMatchObject({ grader });
  const shared = await gateway.api.post(
    '/v1/fine_tuning/checkpoints/ft:m:ckpt/permissions',
    { project_ids: ['proj_1'] },
    { key },
  );
  expect(shared.json.data).toEqual([permission]);
});
