import { expect, test } from 'bun:test';
import { createSimulator } from './simulator.ts';

const EXAMPLES = '{"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello"}]}\n'.repeat(3);

/** A simulator whose clock stands still until it is told to go on. */
function given() {
  let now = 1_790_000_000_000;
  const simulator = createSimulator({ now: () => now });
  const call = async (method: string, path: string, body?: unknown) => {
    const isForm = body instanceof FormData;
    const response = await simulator.simulate(
      new Request(`http://simulator/v1${path}`, {
        method,
        body: isForm ? body : body === undefined ? undefined : JSON.stringify(body),
      }),
    );
    // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was answered
    const json: any = await response.json();
    return { status: response.status, json };
  };
  const upload = async (text = EXAMPLES, purpose = 'fine-tune') => {
    const form = new FormData();
    form.set('purpose', purpose);
    form.set('file', new File([text], 'a.jsonl'));
    return (await call('POST', '/files', form)).json.id as string;
  };
  const create = async (body: object = {}) =>
    (await call('POST', '/fine_tuning/jobs', { model: 'gpt-4o', training_file: await upload(), ...body })).json;
  return {
    call,
    upload,
    create,
    wait: (ms: number) => {
      now += ms;
    },
  };
}

const statusesOf = async ({ call, wait }: ReturnType<typeof given>, id: string, everyMs: number) => {
  const seen: string[] = [];
  for (let step = 0; step < 12; step++) {
    const { status } = (await call('GET', `/fine_tuning/jobs/${id}`)).json;
    if (seen.at(-1) !== status) seen.push(status);
    wait(everyMs);
  }
  return seen;
};

test('a job passes through all its states and leaves a model, checkpoints and a result file', async () => {
  const simulator = given();
  const { id } = await simulator.create({ suffix: 'mine' });

  expect(await statusesOf(simulator, id, 100)).toEqual(['validating_files', 'queued', 'running', 'succeeded']);
  const { json: job } = await simulator.call('GET', `/fine_tuning/jobs/${id}`);
  expect(job).toMatchObject({ finished_at: 1_790_000_000, hyperparameters: { n_epochs: 3 } });
  expect(job.fine_tuned_model).toStartWith('ft:gpt-4o:simulated:mine:');
  expect((await simulator.call('GET', `/files/${job.result_files[0]}`)).json.purpose).toBe('fine-tune-results');
  expect((await simulator.call('GET', `/fine_tuning/jobs/${id}/checkpoints`)).json.data).toHaveLength(3);
  const first = (await simulator.call('GET', `/fine_tuning/jobs/${id}/events?limit=2`)).json;
  expect([first.data[0].message, first.has_more]).toEqual(['The job has successfully completed', true]);
  const rest = (await simulator.call('GET', `/fine_tuning/jobs/${id}/events?after=${first.data[1].id}`)).json;
  expect(rest.data.at(-1).message).toBe(`Created fine-tuning job: ${id}`);
});

test('bad examples fail, and some models have a fate of their own', async () => {
  const simulator = given();
  const { create, upload, call } = simulator;
  const bad = await create({ training_file: await upload('{"x":1}\n') });
  expect(await statusesOf(simulator, bad.id, 100)).toEqual(['validating_files', 'failed']);
  expect((await call('GET', `/fine_tuning/jobs/${bad.id}`)).json.error).toEqual({
    code: 'invalid_training_file',
    message: 'The training file is not valid: line 1 is no example.',
    param: 'training_file',
  });
  expect(await statusesOf(simulator, (await create({ model: 'always-fails' })).id, 100)).toEqual([
    'validating_files',
    'failed',
  ]);
  const endless = await create({ model: 'never-done' });
  expect(await statusesOf(simulator, endless.id, 60_000)).toEqual(['validating_files', 'running']);
  const training_file = await upload();
  expect((await call('POST', '/fine_tuning/jobs', { model: 'self-serve-closed', training_file })).status).toBe(403);
});

test('a job is paused, resumed and cancelled, each only when it makes sense', async () => {
  const { create, call, wait } = given();
  const { id } = await create({ model: 'never-done' });
  const act = async (verb: string) => {
    const { status, json } = await call('POST', `/fine_tuning/jobs/${id}/${verb}`);
    return status === 200 ? json.status : status;
  };
  wait(400);
  expect(await act('resume')).toBe(400);
  expect(await act('pause')).toBe('paused');
  wait(5_000);
  expect(await act('pause')).toBe(400);
  expect(await act('resume')).toBe('running');
  expect(await act('cancel')).toBe('cancelled');
  expect(await act('cancel')).toBe(400);
});

test('jobs are found by their metadata, and refused without a model or with another file', async () => {
  const { create, upload, call } = given();
  const { id } = await create({ metadata: { team: 'a' } });
  await create({ metadata: { team: 'b' } });
  const found = (await call('GET', '/fine_tuning/jobs?metadata%5Bteam%5D=a')).json;
  expect(found.data.map((job: { id: string }) => job.id)).toEqual([id]);
  const other = await upload(EXAMPLES, 'batch');
  for (const [body, param] of [
    [{ training_file: other }, 'model'],
    [{ model: 'm', training_file: other }, 'training_file'],
    [{ model: 'm', training_file: 'file-none' }, 'training_file'],
  ] as const) {
    const { status, json } = await call('POST', '/fine_tuning/jobs', body);
    expect([status, json.error.param]).toEqual([400, param]);
  }
  expect((await call('GET', '/fine_tuning/jobs/ftjob-none')).status).toBe(404);
});
