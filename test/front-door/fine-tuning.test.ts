import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type OpenAI from 'openai';
import { APIError, toFile } from 'openai';
import { startGateway, type TestGateway } from '../gateway.ts';
import { eventually } from '../process.ts';
import { openaiClient } from '../sdk-clients.ts';

const EXAMPLE = {
  messages: [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: 'Hello' },
  ],
};
const examples = (count = 12) => `${JSON.stringify(EXAMPLE)}\n`.repeat(count);

type Job = OpenAI.FineTuning.FineTuningJob;

/** One suite, both stores. */
for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`on ${engine}`, () => {
    let gateway: TestGateway;
    let openai: OpenAI;
    beforeAll(async () => {
      gateway = await startGateway({ engine });
      openai = openaiClient(gateway.url, (await gateway.given.apiKey({ defaults: { virtual_key: 'sim' } })).key);
    });
    afterAll(() => gateway.stop());

    const upload = async (text = examples()) =>
      (await openai.files.create({ file: await toFile(Buffer.from(text), 'a.jsonl'), purpose: 'fine-tune' })).id;
    const until = async (id: string, isIt: (job: Job) => boolean): Promise<Job> => {
      let job = await openai.fineTuning.jobs.retrieve(id);
      await eventually(`the job of ${id}`, async () => {
        job = await openai.fineTuning.jobs.retrieve(id);
        return isIt(job);
      });
      return job;
    };
    const isOver = ({ status }: Job) => ['succeeded', 'failed', 'cancelled'].includes(status);
    const eventsOf = async (id: string) => {
      const found: OpenAI.FineTuning.FineTuningJobEvent[] = [];
      for await (const event of openai.fineTuning.jobs.listEvents(id, { limit: 2 })) found.push(event);
      return found;
    };

    test("OpenAI's client sees the whole life of a job, and none of the provider's ids", async () => {
      const training_file = await upload();
      const validation_file = await upload(examples(2));
      const before = Math.floor(Date.now() / 1_000);
      const created = await openai.fineTuning.jobs.create({
        model: 'gpt-4o-mini',
        training_file,
        validation_file,
        suffix: 'mine',
        metadata: { team: 'search' },
      });

      expect(created).toEqual({
        id: expect.stringMatching(/^ftjob-[0-9A-Za-z]{24}$/),
        object: 'fine_tuning.job',
        created_at: expect.any(Number),
        error: null,
        fine_tuned_model: null,
        finished_at: null,
        hyperparameters: { n_epochs: 'auto', batch_size: 'auto', learning_rate_multiplier: 'auto' },
        model: 'gpt-4o-mini',
        organization_id: (await gateway.api.get('/v1/admin/organisation')).json.id,
        result_files: [],
        status: 'validating_files',
        trained_tokens: null,
        training_file,
        validation_file,
        seed: expect.any(Number),
        integrations: null,
        estimated_finish: null,
        method: {
          type: 'supervised',
          supervised: {
            hyperparameters: { n_epochs: 'auto', batch_size: 'auto', learning_rate_multiplier: 'auto' },
          },
        },
        metadata: { team: 'search' },
      } as unknown as Job);
      expect(created.created_at).toBeGreaterThanOrEqual(before);

      const done = await until(created.id, isOver);
      expect(done).toMatchObject({ id: created.id, status: 'succeeded', error: null, seed: created.seed });
      expect(done.fine_tuned_model).toStartWith('ft:gpt-4o-mini:simulated:mine:');
      expect(done.trained_tokens).toBeGreaterThan(0);
      expect(done.finished_at).toBeGreaterThanOrEqual(done.created_at);
      expect(done.hyperparameters).toEqual({ n_epochs: 3, batch_size: 1, learning_rate_multiplier: 1.8 });
      expect(done.result_files).toEqual([expect.stringMatching(/^file-[0-9A-Za-z]{24}$/)]);
      const results = await openai.files.content(done.result_files[0]!);
      expect(await results.text()).toStartWith('step,train_loss');

      const events = await eventsOf(created.id);
      expect(events.map(({ message }) => message)).toEqual([
        'The job has successfully completed',
        `New fine-tuned model created: ${done.fine_tuned_model}`,
        'Step 3/3: training loss=0.33',
        'Step 2/3: training loss=0.5',
        'Step 1/3: training loss=1',
        'Fine-tuning job started',
        'Files validated, moving job to queued state',
        `Validating training file: ${training_file} and validation file: ${validation_file}`,
        `Created fine-tuning job: ${created.id}`,
      ]);
      expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
      for (const { id } of events) expect(id).toMatch(/^ftevent-[0-9A-Za-z]{24}$/);

      const checkpoints: OpenAI.FineTuning.Jobs.FineTuningJobCheckpoint[] = [];
      for await (const each of openai.fineTuning.jobs.checkpoints.list(created.id, { limit: 2 }))
        checkpoints.push(each);
      expect(checkpoints.map(({ step_number }) => step_number)).toEqual([3, 2, 1]);
      expect(checkpoints[0]).toMatchObject({
        id: expect.stringMatching(/^ftckpt_[0-9A-Za-z]{24}$/),
        object: 'fine_tuning.job.checkpoint',
        fine_tuning_job_id: created.id,
        fine_tuned_model_checkpoint: `${done.fine_tuned_model}:ckpt-step-3`,
      });
    });

    test('a job is cancelled wherever it is, and only once', async () => {
      const training_file = await upload();
      const early = await openai.fineTuning.jobs.create({ model: 'never-done', training_file });
      const cancelled = await openai.fineTuning.jobs.cancel(early.id);
      expect(cancelled).toMatchObject({ id: early.id, status: 'cancelled', fine_tuned_model: null });
      expect(cancelled.finished_at).toBeGreaterThanOrEqual(early.created_at);

      const late = await openai.fineTuning.jobs.create({ model: 'never-done', training_file });
      await until(late.id, ({ status }) => status === 'running');
      expect((await openai.fineTuning.jobs.cancel(late.id)).status).toBe('cancelled');
      expect((await eventsOf(late.id))[0]!.message).toBe('Fine-tuning job cancelled');

      const again = await openai.fineTuning.jobs.cancel(late.id).catch((error: APIError) => error);
      expect(again).toBeInstanceOf(APIError);
      expect(again).toMatchObject({ status: 400, code: 'fine_tuning_job_state' });
      expect((again as APIError).message).toContain(`${late.id} is cancelled`);

      // Both ended at the provider as well.
      await eventually('nothing runs at the provider', async () => {
        const reply = await fetch(`${gateway.provider.url}/fine_tuning/jobs?limit=100`);
        const { data } = (await reply.json()) as { data: Job[] };
        return !data.some(({ status, model }) => model === 'never-done' && status !== 'cancelled');
      });
    });

    test('a paused job is queued, and runs again when it is resumed', async () => {
      const job = await openai.fineTuning.jobs.create({ model: 'never-done', training_file: await upload() });
      await until(job.id, ({ status }) => status === 'running');
      expect((await openai.fineTuning.jobs.pause(job.id)).status).toBe('queued');
      expect((await openai.fineTuning.jobs.retrieve(job.id)).status).toBe('queued');
      expect((await openai.fineTuning.jobs.resume(job.id)).status).toBe('running');
      const twice = await openai.fineTuning.jobs.resume(job.id).catch((error: APIError) => error);
      expect(twice).toMatchObject({ status: 502, code: 'fine_tuning_refused' });
      await openai.fineTuning.jobs.cancel(job.id);
    });

    test('jobs are listed newest first, page by page, and by their metadata', async () => {
      const training_file = await upload();
      const made: string[] = [];
      for (const team of ['blue', 'red', 'blue', 'blue'])
        made.unshift(
          (
            await openai.fineTuning.jobs.create({
              model: 'never-done',
              training_file,
              metadata: { team, paged: 'yes' },
            })
          ).id,
        );
      const listed: string[] = [];
      for await (const { id } of openai.fineTuning.jobs.list({ limit: 2, metadata: { paged: 'yes' } })) listed.push(id);
      expect(listed).toEqual(made);
      const blue: string[] = [];
      for await (const { id } of openai.fineTuning.jobs.list({ limit: 1, metadata: { paged: 'yes', team: 'blue' } }))
        blue.push(id);
      expect(blue).toEqual([made[0]!, made[1]!, made[3]!]);

      const first = await gateway.api.get('/v1/fine_tuning/jobs?limit=2', {
        headers: { 'x-gateway-virtual-key': 'sim' },
      });
      expect(Object.keys(first.json).sort()).toEqual(['data', 'has_more', 'object']);
      expect([first.json.object, first.json.has_more, first.json.data.length]).toEqual(['list', true, 2]);
      const bare = await openai.fineTuning.jobs.list({ metadata: null });
      for (const { metadata } of bare.data) expect(metadata).toEqual({});
      for (const id of made) await openai.fineTuning.jobs.cancel(id);
    });

    test('the built-in provider tunes offline', async () => {
      const demo = openaiClient(gateway.url, (await gateway.given.apiKey({ defaults: { virtual_key: 'demo' } })).key);
      const { id } = await demo.fineTuning.jobs.create({ model: 'demo', training_file: await upload() });
      const done = await until(id, isOver);
      expect([done.status, done.result_files.length]).toEqual(['succeeded', 1]);
    });

    test('bad examples and closed doors fail the job and say why', async () => {
      const bad = await openai.fineTuning.jobs.create({ model: 'gpt-4o', training_file: await upload('{"a":1}\n') });
      const failed = await until(bad.id, isOver);
      expect(failed).toMatchObject({
        status: 'failed',
        error: {
          code: 'invalid_training_file',
          message: 'The training file is not valid: line 1 is no example.',
          param: 'training_file',
        },
      });
      const closed = await openai.fineTuning.jobs.create({ model: 'self-serve-closed', training_file: await upload() });
      const refused = await until(closed.id, isOver);
      expect(refused.error?.code).toBe('self_serve_closed');
      expect(refused.error?.message).toContain('use a virtual key of another provider');
      expect((await eventsOf(closed.id))[0]).toMatchObject({ level: 'error', message: refused.error?.message });
    });
  });
}
