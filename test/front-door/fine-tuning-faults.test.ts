import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createSimulator } from '../../simulator/simulator.ts';
import { ADMIN_KEY, type client, serve, startGateway, type TestGateway } from '../gateway.ts';
import { eventually, forTests, newDataDir, removeDataDir, startProcess } from '../process.ts';

const LINES = '{"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello"}]}\n'.repeat(10);
const JOBS = '/v1/fine_tuning/jobs';
const sim = { headers: { 'x-gateway-virtual-key': 'sim' } };

type Api = ReturnType<typeof client>;

async function upload(api: Api, { purpose = 'fine-tune', text = LINES, key = ADMIN_KEY } = {}): Promise<string> {
  const form = new FormData();
  form.set('purpose', purpose);
  form.set('file', new File([text], 'a.jsonl'));
  const reply = await api.post('/v1/files', form, { key });
  if (reply.status !== 200) throw new Error(reply.text);
  return reply.json.id;
}

describe('bad input', () => {
  let gateway: TestGateway;
  let file = '';
  beforeAll(async () => {
    gateway = await startGateway();
    file = await upload(gateway.api);
  });
  afterAll(() => gateway.stop());

  const method = (type: string, hyperparameters: object) => ({ method: { type, [type]: { hyperparameters } } });
  const wandb = { type: 'wandb', wandb: { project: 'p' } };

  /** What is wrong with the body, how it is answered, and which parameter the answer names. */
  const faults: readonly [string, Record<string, unknown>, string, string][] = [
    ['no model', { model: undefined }, 'missing_required_parameter', 'model'],
    ['a model that is no text', { model: 7 }, 'invalid_type', 'model'],
    ['an empty model', { model: '' }, 'string_below_min_length', 'model'],
    ['no training file', { training_file: undefined }, 'missing_required_parameter', 'training_file'],
    ['a training file that is no text', { training_file: ['x'] }, 'invalid_type', 'training_file'],
    [
      'an address that this provider cannot read',
      { training_file: 'gs://b/x.jsonl' },
      'invalid_value',
      'training_file',
    ],
    ['an empty suffix', { suffix: '' }, 'string_below_min_length', 'suffix'],
    ['a suffix of 65 characters', { suffix: 'x'.repeat(65) }, 'string_above_max_length', 'suffix'],
    ['a negative seed', { seed: -1 }, 'integer_below_min_value', 'seed'],
    ['a seed beyond 31 bits', { seed: 2 ** 31 }, 'integer_above_max_value', 'seed'],
    ['a seed with a fraction', { seed: 1.5 }, 'invalid_type', 'seed'],
    ['six integrations', { integrations: Array(6).fill(wandb) }, 'array_above_max_length', 'integrations'],
    ['an integration of another kind', { integrations: [{ type: 'x' }] }, 'invalid_value', 'integrations[0].type'],
    [
      'an integration without a project',
      { integrations: [{ type: 'wandb', wandb: {} }] },
      'missing_required_parameter',
      'integrations[0].wandb.project',
    ],
    ['a method that does not exist', { method: { type: 'magic' } }, 'invalid_value', 'method.type'],
    ['a method without a type', { method: {} }, 'missing_required_parameter', 'method.type'],
    ['a method that is a text', { method: 'dpo' }, 'invalid_type', 'method'],
    [
      'no epochs',
      method('supervised', { n_epochs: 0 }),
      'integer_below_min_value',
      'method.supervised.hyperparameters.n_epochs',
    ],
    [
      'too many epochs',
      method('dpo', { n_epochs: 51 }),
      'integer_above_max_value',
      'method.dpo.hyperparameters.n_epochs',
    ],
    [
      'epochs in words',
      method('supervised', { n_epochs: 'three' }),
      'invalid_value',
      'method.supervised.hyperparameters.n_epochs',
    ],
    [
      'a learning rate of nothing',
      method('supervised', { learning_rate_multiplier: 0 }),
      'invalid_value',
      'method.supervised.hyperparameters.learning_rate_multiplier',
    ],
    ['a beta beyond 2', method('dpo', { beta: 3 }), 'decimal_above_max_value', 'method.dpo.hyperparameters.beta'],
    [
      'a hyperparameter of another method',
      method('supervised', { beta: 1 }),
      'unknown_parameter',
      'method.supervised.hyperparameters.beta',
    ],
    [
      'reinforcement without a grader',
      { method: { type: 'reinforcement', reinforcement: {} } },
      'missing_required_parameter',
      'method.reinforcement.grader',
    ],
    [
      'old hyperparameters that are wrong',
      { hyperparameters: { batch_size: 257 } },
      'integer_above_max_value',
      'hyperparameters.batch_size',
    ],
    ['metadata that is no text', { metadata: { a: 1 } }, 'invalid_type', 'metadata.a'],
    [
      'metadata with 17 pairs',
      { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`k${at}`, 'v'])) },
      'object_above_max_properties',
      'metadata',
    ],
    [
      'options that the provider does not have',
      { provider_options: { adapter_size: 4 } },
      'not_expressible',
      'provider_options.adapter_size',
    ],
  ];
  for (const [what, change, code, param] of faults)
    test(what, async () => {
      const reply = await gateway.api.post(JOBS, { model: 'gpt-4o', training_file: file, ...change }, sim);
      expect([reply.status, reply.json.error.code, reply.json.error.param]).toEqual([400, code, param]);
    });

  test('a file of another purpose is refused by the name of the parameter', async () => {
    const other = await upload(gateway.api, { purpose: 'user_data' });
    for (const param of ['training_file', 'validation_file']) {
      const reply = await gateway.api.post(JOBS, { model: 'm', training_file: file, [param]: other }, sim);
      expect([reply.status, reply.json.error.param]).toEqual([400, param]);
      expect(reply.json.error.message).toContain("has the purpose 'user_data'. Expected 'fine-tune'.");
    }
    const empty = await upload(gateway.api, { text: '' });
    const reply = await gateway.api.post(JOBS, { model: 'm', training_file: empty }, sim);
    expect([reply.status, reply.json.error.param]).toEqual([400, 'training_file']);
  });

  test("an unknown file and another workspace's file are missing alike", async () => {
    const workspace = await gateway.given.workspace();
    const { key } = await gateway.given.apiKey({ workspace_id: workspace.id });
    const foreign = await upload(gateway.api, { key });
    for (const training_file of ['file-nowhere', foreign]) {
      const reply = await gateway.api.post(JOBS, { model: 'm', training_file }, sim);
      expect([reply.status, reply.json.error.message]).toEqual([404, `No such File object: ${training_file}`]);
    }
  });

  test('every route needs a virtual key, and one that has fine-tuning', async () => {
    const paths = [
      ['POST', ''],
      ['GET', ''],
      ['GET', '/ftjob-x'],
      ['POST', '/ftjob-x/cancel'],
      ['POST', '/ftjob-x/pause'],
      ['POST', '/ftjob-x/resume'],
      ['GET', '/ftjob-x/events'],
      ['GET', '/ftjob-x/checkpoints'],
    ] as const;
    for (const [verb, path] of paths) {
      const body = verb === 'POST' && path === '' ? { model: 'm', training_file: file } : undefined;
      const bare = await gateway.api.call(verb, JOBS + path, { body });
      expect([path, bare.status, bare.json.error.code]).toEqual([path, 400, 'missing_virtual_key']);
      const unknown = await gateway.api.call(verb, JOBS + path, { body, headers: { 'x-gateway-virtual-key': 'none' } });
      expect([path, unknown.status, unknown.json.error.code]).toEqual([path, 400, 'unknown_virtual_key']);
      if (path === '') continue;
      const missing = await gateway.api.call(verb, JOBS + path, sim);
      expect([path, missing.status, missing.json.error.code, missing.json.error.message]).toEqual([
        path,
        404,
        'fine_tune_not_found',
        'Could not find fine tune: ftjob-x',
      ]);
    }
    await gateway.given.virtualKey({ slug: 'claude', provider: 'anthropic' });
    const reply = await gateway.api.post(
      JOBS,
      { model: 'm', training_file: file },
      { headers: { 'x-gateway-virtual-key': 'claude' } },
    );
    expect([reply.status, reply.json.error.code]).toEqual([400, 'fine_tuning_unsupported']);
    expect(reply.json.error.message).toContain('openai, azure-openai, vertex-ai, bedrock, fireworks-ai');
  });

  test("another workspace's job is missing on every route", async () => {
    const job = (await gateway.api.post(JOBS, { model: 'never-done', training_file: file }, sim)).json;
    const workspace = await gateway.given.workspace();
    const { key } = await gateway.given.apiKey({ workspace_id: workspace.id });
    await gateway.given.virtualKey({ slug: 'theirs', workspace_id: workspace.id });
    const theirs = { key, headers: { 'x-gateway-virtual-key': 'theirs' } };
    for (const path of ['', '/events', '/checkpoints'])
      expect((await gateway.api.get(`${JOBS}/${job.id}${path}`, theirs)).status).toBe(404);
    for (const path of ['/cancel', '/pause', '/resume'])
      expect((await gateway.api.call('POST', `${JOBS}/${job.id}${path}`, theirs)).status).toBe(404);
    expect((await gateway.api.get(JOBS, theirs)).json.data).toEqual([]);
    const cursor = await gateway.api.get(`${JOBS}?after=${job.id}`, theirs);
    expect([cursor.status, cursor.json.error.param]).toEqual([404, 'after']);
    expect((await gateway.api.call('POST', `${JOBS}/${job.id}/cancel`, sim)).status).toBe(200);
  });

  test('lists refuse what they do not know', async () => {
    for (const [query, status, param] of [
      ['limit=0', 400, 'limit'],
      ['limit=x', 400, 'limit'],
      ['order=asc', 400, 'order'],
      ['after=file-x', 400, 'after'],
      ['after=ftjob-x', 404, 'after'],
      ['metadata=x', 400, 'metadata'],
      ['metadata[a]=1&metadata[a]=2', 400, 'metadata[a]'],
    ] as const) {
      const reply = await gateway.api.get(`${JOBS}?${query}`, sim);
      expect([query, reply.status, reply.json.error.param]).toEqual([query, status, param]);
    }
    expect((await gateway.api.get(`${JOBS}?limit=500&after=`, sim)).status).toBe(200);
  });

  test('a virtual key says what it cannot mean about fine-tuning', async () => {
    for (const [tuning, param] of [
      [{ storage_uri: 'ftp://x' }, 'configurations.fine_tuning.storage_uri'],
      [{ role_arn: 'me' }, 'configurations.fine_tuning.role_arn'],
      [{ account: 'x' }, 'configurations.fine_tuning.account'],
    ] as const) {
      const reply = await gateway.api.post('/v1/virtual-keys', {
        name: 'x',
        provider: 'openai',
        key: 'k',
        configurations: { fine_tuning: tuning },
      });
      expect([reply.status, reply.json.error.param]).toEqual([400, param]);
    }
  });
});

interface Provider {
  readonly url: string;
  /** What it does in place of answering; null: nothing. */
  instead: ((request: Request, answer: () => Promise<Response>) => Promise<Response | null>) | null;
  jobs(): Promise<{ id: string; status: string; metadata: Record<string, string> }[]>;
  stop(): void;
}

/** The simulator with a proxy in front of it that makes trouble. */
function startTroubled(): Provider {
  const simulator = createSimulator();
  const { origin, stop } = serve(async (request) => {
    const answer = () => simulator.simulate(request);
    return (await provider.instead?.(request, answer)) ?? answer();
  });
  const provider: Provider = {
    url: `${origin}/v1`,
    instead: null,
    stop,
    jobs: async () => {
      const reply = await simulator.simulate(new Request(`${origin}/v1/fine_tuning/jobs?limit=100`));
      return ((await reply.json()) as { data: Awaited<ReturnType<Provider['jobs']>> }).data;
    },
  };
  return provider;
}

const isCreation = ({ method, url }: Request) => method === 'POST' && url.endsWith('/fine_tuning/jobs');

describe('a troubled provider', () => {
  let gateway: TestGateway;
  let provider: Provider;
  beforeAll(async () => {
    gateway = await startGateway();
    provider = startTroubled();
    await gateway.given.virtualKey({ slug: 'troubled', custom_host: provider.url });
  });
  afterAll(async () => {
    await gateway.stop();
    provider.stop();
  });
  const troubled = { headers: { 'x-gateway-virtual-key': 'troubled' } };
  const create = async (model: string) => {
    const reply = await gateway.api.post(JOBS, { model, training_file: await upload(gateway.api) }, troubled);
    expect(reply.status).toBe(200);
    return reply.json.id as string;
  };
  const read = async (id: string) => (await gateway.api.get(`${JOBS}/${id}`, troubled)).json;
  const becomes = (id: string, status: string) =>
    eventually(`${id} is ${status}`, async () => (await read(id)).status === status);

  test('that is away leaves the status as it was, and the job goes on when it is back', async () => {
    const id = await create('never-done');
    await becomes(id, 'running');
    let asked = 0;
    provider.instead = async () => {
      asked++;
      return new Response('no', { status: 503, headers: { 'retry-after': '0' } });
    };
    await eventually('it was asked in vain', () => asked >= 2);
    expect((await read(id)).status).toBe('running');
    const events = (await gateway.api.get(`${JOBS}/${id}/events`, troubled)).json.data;
    expect(events[0]).toMatchObject({ level: 'warn' });
    expect(events[0].message).toContain('it answered 503');
    const refused = await gateway.api.call('POST', `${JOBS}/${id}/cancel`, troubled);
    expect([refused.status, refused.json.error.code]).toEqual([502, 'fine_tuning_refused']);
    expect((await read(id)).status).toBe('running');

    provider.instead = null;
    expect((await gateway.api.call('POST', `${JOBS}/${id}/cancel`, troubled)).json.status).toBe('cancelled');
  });

  test('whose answer to the creation gets lost is not asked to create again', async () => {
    let creations = 0;
    provider.instead = async (request, answer) => {
      if (!isCreation(request)) return null;
      creations++;
      await answer();
      return new Response('lost', { status: 502 });
    };
    const id = await create('gpt-4o');
    await becomes(id, 'succeeded');
    provider.instead = null;
    expect(creations).toBe(1);
    expect((await provider.jobs()).filter(({ metadata }) => metadata.gateway_job === id)).toHaveLength(1);
  });

  test('that makes no sense changes nothing, and one that has forgotten the job ends it', async () => {
    const id = await create('never-done');
    await becomes(id, 'running');
    let asked = 0;
    provider.instead = async () => {
      asked++;
      return Response.json({ status: 'dreaming' });
    };
    await eventually('it was asked', () => asked >= 1);
    expect((await read(id)).status).toBe('running');

    provider.instead = async () => Response.json({ error: { message: 'No such job.' } }, { status: 404 });
    await becomes(id, 'failed');
    provider.instead = null;
    expect((await read(id)).error).toEqual({
      code: 'provider_job_missing',
      message: 'Provider openai no longer knows this job.',
      param: null,
    });
  });

  test('that refuses the credential fails the job before it began, with its own words', async () => {
    provider.instead = async () =>
      Response.json({ error: { message: 'Incorrect API key provided.', code: 'invalid_api_key' } }, { status: 401 });
    const id = await create('gpt-4o');
    await becomes(id, 'failed');
    provider.instead = null;
    expect((await read(id)).error).toEqual({
      code: 'invalid_api_key',
      message: 'Incorrect API key provided.',
      param: null,
    });
  });
});

test('a process that is killed while the provider creates the job leaves one job, which goes on', async () => {
  const provider = startTroubled();
  const dataDir = newDataDir();
  let creations = 0;
  const reached = Promise.withResolvers<void>();
  provider.instead = async (request, answer) => {
    if (!isCreation(request)) return null;
    creations++;
    const made = await answer();
    if (creations > 1) return made;
    reached.resolve();
    // It never answers the process that is about to die.
    await Bun.sleep(60_000);
    return made;
  };
  const options = { dataDir, environment: forTests };
  const first = await startProcess(options);
  await first.given.virtualKey(provider.url);
  const created = await first.api.post(JOBS, { model: 'gpt-4o', training_file: await upload(first.api) }, sim);
  await reached.promise;
  await first.kill();

  const second = await startProcess(options);
  try {
    await eventually(
      'the job succeeds',
      async () => (await second.api.get(`${JOBS}/${created.json.id}`, sim)).json.status === 'succeeded',
    );
    expect(creations).toBe(1);
    expect(await provider.jobs()).toHaveLength(1);
  } finally {
    await second.stop();
    provider.stop();
    removeDataDir(dataDir);
  }
});
