import { afterAll, beforeAll, expect, test } from 'bun:test';
import { startGateway, type TestGateway } from '../gateway.ts';
import { eventually } from '../process.ts';
import { type Recorded, startRecorder } from '../recorder.ts';

const LINES = '{"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello"}]}\n'.repeat(10);
const JOBS = '/v1/fine_tuning/jobs';
const headers = { 'x-gateway-virtual-key': 'odd' };

let gateway: TestGateway;
const provider = startRecorder();
beforeAll(async () => {
  gateway = await startGateway({ engine: 'postgres' });
  await gateway.given.virtualKey({ slug: 'odd', custom_host: `${provider.origin}/v1` });
});
afterAll(async () => {
  await gateway.stop();
  provider.stop();
});

/** Answers by method and path; what is not foreseen is a 404. */
const answering = (routes: Record<string, (request: Recorded) => Response>) => {
  provider.requests.length = 0;
  provider.answers((request) => {
    const path = request.path.split('?')[0];
    return routes[`${request.method} ${path}`]?.(request) ?? Response.json({ message: 'unforeseen' }, { status: 404 });
  });
};
const count = (method: string, path: string) =>
  provider.requests.filter((each) => each.method === method && each.path.split('?')[0] === path).length;

async function created(change: Record<string, unknown> = {}) {
  const form = new FormData();
  form.set('purpose', 'fine-tune');
  form.set('file', new File([LINES], 'a.jsonl'));
  const training_file = (await gateway.api.post('/v1/files', form)).json.id;
  const reply = await gateway.api.post(JOBS, { model: 'gpt-4o-mini', training_file, ...change }, { headers });
  expect([reply.status, reply.json.status]).toEqual([200, 'validating_files']);
  return reply.json;
}
const read = async (id: string) => (await gateway.api.get(`${JOBS}/${id}`, { headers })).json;
async function finished(id: string) {
  await eventually('the job ends', async () => (await read(id)).finished_at !== null);
  return read(id);
}

const FILE = { 'POST /v1/files': () => Response.json({ id: 'file-theirs', bytes: LINES.length }) };
const THEIRS = 'ftjob-theirs';

test("a refusal in the same breath as the upload does not tell the provider's name of the file", async () => {
  answering({
    ...FILE,
    [`POST ${JOBS}`]: () =>
      Response.json({ error: { message: 'file-theirs has too few examples', code: 'few' } }, { status: 400 }),
  });
  const job = await created();
  const { status, error } = await finished(job.id);
  expect([status, error]).toEqual([
    'failed',
    { code: 'few', message: `${job.training_file} has too few examples`, param: null },
  ]);
});

test('neither events, nor refusals of a cancellation, hold names of the provider', async () => {
  const event = {
    id: 'ev-1',
    object: 'fine_tuning.job.event',
    created_at: 1_790_000_000,
    level: 'info',
    message: `Job ${THEIRS} reads file-theirs \0 now`,
    type: 'message',
    data: { job: THEIRS, files: ['file-theirs'] },
  };
  answering({
    ...FILE,
    [`POST ${JOBS}`]: () => Response.json({ id: THEIRS, status: 'running' }),
    [`GET ${JOBS}/${THEIRS}`]: () => Response.json({ id: THEIRS, status: 'running' }),
    [`GET ${JOBS}/${THEIRS}/events`]: () => Response.json({ object: 'list', data: [event], has_more: false }),
    [`POST ${JOBS}/${THEIRS}/cancel`]: () =>
      Response.json({ error: { message: `${THEIRS} cannot be cancelled` } }, { status: 400 }),
  });
  const job = await created();
  await eventually('it runs', async () => (await read(job.id)).status === 'running');
  const { json } = await gateway.api.get(`${JOBS}/${job.id}/events`, { headers });
  expect(json.data[0]).toMatchObject({
    message: `Job ${job.id} reads ${job.training_file}  now`,
    data: { job: job.id, files: [job.training_file] },
  });
  const refused = await gateway.api.post(`${JOBS}/${job.id}/cancel`, undefined, { headers });
  expect([refused.status, refused.json.error.code]).toEqual([502, 'fine_tuning_refused']);
  expect(refused.json.error.message).toContain(`${job.id} cannot be cancelled`);
  expect(refused.text).not.toContain('theirs');
});

test('a list that cannot be read is not taken for one without our job: it is not made twice', async () => {
  let isBroken = true;
  answering({
    ...FILE,
    // It makes the job, and fails to say so.
    [`POST ${JOBS}`]: () => new Response('oops', { status: 500 }),
    [`GET ${JOBS}`]: (request) =>
      isBroken
        ? Response.json({ error: 'later' })
        : Response.json({
            object: 'list',
            data: [
              {
                id: THEIRS,
                metadata: { gateway_job: new URLSearchParams(request.path.split('?')[1]).get('metadata[gateway_job]') },
              },
            ],
          }),
    [`GET ${JOBS}/${THEIRS}`]: () => Response.json({ id: THEIRS, status: 'succeeded', fine_tuned_model: 'ft:x' }),
    [`GET ${JOBS}/${THEIRS}/events`]: () => Response.json({ object: 'list', data: [], has_more: false }),
  });
  const job = await created();
  await eventually('it is looked for', () => count('GET', JOBS) >= 2);
  isBroken = false;
  expect(await finished(job.id)).toMatchObject({ status: 'succeeded', fine_tuned_model: 'ft:x' });
  expect(count('POST', JOBS)).toBe(1);
});

test('a result file without end is left out, and the model is there all the same', async () => {
  const piece = new Uint8Array(1 << 20);
  answering({
    ...FILE,
    [`POST ${JOBS}`]: () => Response.json({ id: THEIRS, status: 'running' }),
    [`GET ${JOBS}/${THEIRS}`]: () =>
      Response.json({ id: THEIRS, status: 'succeeded', fine_tuned_model: 'ft:x', result_files: ['file-endless'] }),
    [`GET ${JOBS}/${THEIRS}/events`]: () => Response.json({ object: 'list', data: [], has_more: false }),
    'GET /v1/files/file-endless/content': () =>
      new Response(new ReadableStream({ pull: (controller) => controller.enqueue(piece) })),
  });
  const job = await created();
  expect(await finished(job.id)).toMatchObject({ status: 'succeeded', fine_tuned_model: 'ft:x', result_files: [] });
});

test('another workspace reaches a job with no verb', async () => {
  answering({ ...FILE, [`POST ${JOBS}`]: () => new Response('later', { status: 503 }) });
  const job = await created();
  const workspace = await gateway.given.workspace();
  const { key } = await gateway.given.apiKey({ workspace_id: workspace.id });
  await gateway.given.virtualKey({ slug: 'odd', workspace_id: workspace.id, custom_host: `${provider.origin}/v1` });
  for (const [verb, rest] of [
    ['GET', ''],
    ['GET', '/events'],
    ['GET', '/checkpoints'],
    ['POST', '/cancel'],
    ['POST', '/pause'],
    ['POST', '/resume'],
  ] as const) {
    const reply = await gateway.api.call(verb, `${JOBS}/${job.id}${rest}`, { key, headers });
    expect([verb, rest, reply.status, reply.json.error.code]).toEqual([verb, rest, 404, 'fine_tune_not_found']);
  }
  const theirs = { model: 'm', training_file: job.training_file };
  const reply = await gateway.api.post(JOBS, theirs, { key, headers });
  expect([reply.status, reply.json.error.message]).toEqual([404, `No such File object: ${job.training_file}`]);
  const after = await gateway.api.get(`${JOBS}?after=${job.id}`, { key, headers });
  expect(after.status).toBe(404);
  expect((await gateway.api.post(`${JOBS}/${job.id}/cancel`, undefined, { headers })).json.status).toBe('cancelled');
});
