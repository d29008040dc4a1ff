import { afterAll, beforeAll, expect, test } from 'bun:test';
import type OpenAI from 'openai';
import { STATUSES } from '../../src/batches/batch.ts';
import { chatLine, ended, uploadLines } from '../batch-lines.ts';
import { startGateway, type TestGateway } from '../gateway.ts';
import { eventually } from '../process.ts';
import { openaiClient } from '../sdk-clients.ts';
import { query } from '../state-tables.ts';

/** What the reference allows, and the failures of the gateway itself. */
const BATCHES: Record<string, readonly string[]> = {
  validating: ['in_progress', 'failed', 'cancelling'],
  in_progress: ['finalizing', 'expired', 'cancelling', 'failed'],
  finalizing: ['completed', 'failed'],
  cancelling: ['cancelled', 'failed'],
};
const JOBS: Record<string, readonly string[]> = {
  validating_files: ['queued', 'running', 'succeeded', 'failed', 'cancelled'],
  queued: ['running', 'succeeded', 'failed', 'cancelled'],
  running: ['succeeded', 'failed', 'cancelled'],
};

let gateway: TestGateway;
let openai: OpenAI;
beforeAll(async () => {
  gateway = await startGateway();
  const { key } = await gateway.given.apiKey({ defaults: { virtual_key: 'sim' } });
  openai = openaiClient(gateway.url, key);
  // The database itself notes every change of a status, whichever part of the gateway makes it.
  await query(gateway, 'create table seen (number integer primary key, id text, before text, after text, row text)');
  const row = (times: readonly string[]) => `json_object(${times.map((name) => `'${name}', new.${name}`).join(', ')})`;
  for (const [table, times] of [
    ['batches', STATUSES.filter((status) => status !== 'validating').map((status) => `${status}_at`)],
    ['fine_tuning_jobs', ['finished_at']],
  ] as const)
    await query(
      gateway,
      `create trigger note_${table} after update on ${table}
       begin insert into seen (id, before, after, row) values (new.id, old.status, new.status, ${row(times)}); end`,
    );
});
afterAll(() => gateway.stop());

interface Seen {
  readonly id: string;
  readonly before: string;
  readonly after: string;
  readonly row: string;
}

const seen = () => query<Seen>(gateway, 'select id, before, after, row from seen order by number');

const random = (most: number) => Math.floor(Math.random() * most);

/** Something that may happen to a batch at any moment; each may come too late. */
const HARMS: ((id: string) => Promise<unknown>)[] = [
  async () => {},
  (id) => openai.batches.cancel(id).catch(() => {}),
  async (id) => {
    await openai.batches.cancel(id).catch(() => {});
    await openai.batches.cancel(id).catch(() => {});
  },
  (id) => query(gateway, `update batches set expires_at = 1000 where id = '${id}'`),
  async (id) => {
    await query(gateway, `update batches set expires_at = 1000 where id = '${id}'`);
    await openai.batches.cancel(id).catch(() => {});
  },
];

test('whatever happens to batches and when, no illegal transition is ever written, and each time is of its state', async () => {
  const inputs = [
    Array.from({ length: 30 }, (_, at) => chatLine(`r${at}`, `[[simulate: delay=${random(300)}]] Hello`)),
    [chatLine('one'), chatLine('bad', '[[simulate: status=400]]')],
    ['no request'],
  ];
  // The window's end is looked for every five seconds.
  const slow = Array.from({ length: 60 }, (_, at) => chatLine(`r${at}`, '[[simulate: delay=2500]] Hello'));
  const lives = Array.from({ length: 25 }, async (_, at) => {
    const harm = at % HARMS.length;
    const file = await uploadLines(openai, harm < 3 ? inputs[at % inputs.length]! : slow);
    const { id } = await openai.batches.create({
      input_file_id: file.id,
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
    });
    await Bun.sleep(random(400));
    await HARMS[harm]!(id);
    return ended(openai, id);
  });
  const batches = await Promise.all(lives);
  const changes = await seen();
  for (const batch of batches) {
    const own = changes.filter(({ id }) => id === batch.id);
    const entered = own.filter(({ before, after }) => before !== after);
    for (const { before, after } of entered) expect(`${before} to ${BATCHES[before]}`).toContain(after);
    const visited: string[] = [];
    for (const { before, after, row } of own) {
      if (before !== after) visited.push(after);
      const times = JSON.parse(row) as Record<string, number | null>;
      const set = Object.keys(times).filter((name) => times[name] !== null);
      expect(set.sort()).toEqual(visited.map((status) => `${status}_at`).sort());
    }
    expect(visited.at(-1)).toBe(batch.status);
  }
  // Every ending was met; otherwise this would prove little.
  const endings = new Set(batches.map(({ status }) => status as string));
  for (const status of ['completed', 'failed', 'cancelled', 'expired']) expect([...endings]).toContain(status);
});

test('the same holds for fine-tuning jobs that are cancelled, paused and resumed at any moment', async () => {
  const form = new FormData();
  form.set('purpose', 'fine-tune');
  const example = '{"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello"}]}\n';
  form.set('file', new File([example.repeat(10)], 'a.jsonl'));
  const { id: training_file } = (await gateway.api.post('/v1/files', form)).json;
  const { jobs } = openai.fineTuning;
  const lives = Array.from({ length: 12 }, async (_, at) => {
    const model = ['gpt-4o-mini', 'never-done', 'gpt-4o-mini'][at % 3]!;
    const { id } = await jobs.create({ model, training_file });
    await Bun.sleep(random(900));
    if (at % 4 === 1) await jobs.pause(id).catch(() => {});
    if (at % 4 === 1) await jobs.resume(id).catch(() => {});
    if (model === 'never-done' || at % 4 === 2)
      await eventually('it is cancelled', () =>
        jobs.cancel(id).then(
          () => true,
          async () => (await jobs.retrieve(id)).finished_at !== null,
        ),
      );
    await eventually('it has ended', async () => (await jobs.retrieve(id)).finished_at !== null);
    return jobs.retrieve(id);
  });
  const ends = await Promise.all(lives);
  const changes = await seen();
  for (const job of ends) {
    const own = changes.filter(({ id }) => id === job.id);
    for (const { before, after, row } of own) {
      // A pause leads back to queued.
      if (before !== after && after !== 'queued') expect(`${before} to ${JOBS[before]}`).toContain(after);
      const isOver = ['succeeded', 'failed', 'cancelled'].includes(after);
      expect([after, (JSON.parse(row) as { finished_at: number | null }).finished_at !== null]).toEqual([
        after,
        isOver,
      ]);
    }
    expect(own.at(-1)!.after).toBe(job.status);
  }
});
