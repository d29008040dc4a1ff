import { Database } from 'bun:sqlite';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { toFile } from 'openai';
import { chatLine, ended, uploadLines } from './batch-lines.ts';
import type { TestGateway } from './gateway.ts';
import { eventually } from './process.ts';
import { openaiClient } from './sdk-clients.ts';
import { query } from './state-tables.ts';

type Place = Pick<TestGateway, 'dataDir' | 'databaseUrl'>;

/** The embedded log is a database of its own. */
async function logQuery<Row>(place: Place, text: string): Promise<Row[]> {
  if (place.databaseUrl) return query<Row>(place, text);
  const database = new Database(join(place.dataDir, 'logs.db'), { readonly: true });
  try {
    return database.query(text).all() as Row[];
  } finally {
    database.close();
  }
}

/** The tables of both databases, with their columns, as the databases themselves know them. */
export async function tablesOf(place: Place): Promise<Map<string, Set<string>>> {
  const text = place.databaseUrl
    ? `select table_name as name, column_name as col from information_schema.columns where table_schema = 'public'
       and table_name not in (select relname from pg_inherits join pg_class on pg_class.oid = inhrelid)`
    : `select tables.name, columns.name as col from pragma_table_list as tables, pragma_table_info(tables.name) as columns
       where tables.schema = 'main' and tables.type in ('table', 'virtual')`;
  const rows = [
    ...(await query<{ name: string; col: string }>(place, text)),
    ...(place.databaseUrl ? [] : await logQuery<{ name: string; col: string }>(place, text)),
  ];
  const tables = new Map<string, Set<string>>();
  for (const { name, col } of rows) tables.set(name, (tables.get(name) ?? new Set()).add(col));
  // Those of the databases themselves, and of extensions.
  for (const name of [...tables.keys()]) if (/^(sqlite_|pg_)/.test(name)) tables.delete(name);
  return tables;
}

const isOfLog = (name: string) => /^(request_log|analytics_)/.test(name);

export async function rowsIn(place: Place, table: string, where = 'true'): Promise<number> {
  const ask = isOfLog(table) ? logQuery : query;
  const [row] = await ask<{ rows: number }>(place, `select count(*) as rows from "${table}" where ${where}`);
  return Number(row!.rows);
}

/** How many rows each of these tables has. */
export async function totalsOf(place: Place, tables: Iterable<string>): Promise<Record<string, number>> {
  const totals: Record<string, number> = {};
  for (const table of [...tables].sort()) totals[table] = await rowsIn(place, table);
  return totals;
}

/** What is kept beside the databases: names of blobs, wherever they lie. */
export async function blobsOf(place: Place): Promise<string[]> {
  if (place.databaseUrl)
    return (await query<{ id: string }>(place, 'select id from blobs')).map(({ id }) => id).toSorted();
  const folder = join(place.dataDir, 'blobs');
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .toSorted();
}

const PATIENCE_MS = 180_000;

const example = JSON.stringify({
  messages: [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: 'b' },
  ],
});

/** Something of every area that applications use, made with one key; answers what was said, and where. */
export async function useEverything({ url, api }: TestGateway, key: string, said: string) {
  const openai = openaiClient(url, key);
  const assistant = await openai.beta.assistants.create({ model: 'gpt-4o-mini', name: 'Helper' });
  const thread = await openai.beta.threads.create({ messages: [{ role: 'user', content: said }] });
  const run = await openai.beta.threads.runs.create(thread.id, { assistant_id: assistant.id });
  await eventually(
    'the run has ended',
    async () => {
      const { status } = await openai.beta.threads.runs.retrieve(run.id, { thread_id: thread.id });
      return status === 'completed';
    },
    PATIENCE_MS,
  );
  const file = await openai.files.create({ file: await toFile(Buffer.from(said), 'a.txt'), purpose: 'assistants' });
  const store = await openai.vectorStores.create({ name: 'Docs', file_ids: [file.id] });
  await eventually(
    'the store is filled',
    async () => {
      return (await openai.vectorStores.retrieve(store.id)).file_counts.completed === 1;
    },
    PATIENCE_MS,
  );
  const upload = await openai.uploads.create({
    bytes: 9,
    filename: 'b.txt',
    mime_type: 'text/plain',
    purpose: 'assistants',
  });
  await openai.uploads.parts.create(upload.id, { data: await toFile(Buffer.from('part'), 'part') });
  const batch = await openai.batches.create({
    input_file_id: (await uploadLines(openai, [chatLine('a', said)])).id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
  });
  await ended(openai, batch.id, PATIENCE_MS);
  const training = await openai.files.create({
    file: await toFile(Buffer.from(Array(12).fill(example).join('\n')), 'a.jsonl'),
    purpose: 'fine-tune',
  });
  const job = await openai.fineTuning.jobs.create({ model: 'gpt-4o-mini', training_file: training.id });
  await eventually(
    'the job has ended',
    async () => {
      return (await openai.fineTuning.jobs.retrieve(job.id)).status === 'succeeded';
    },
    PATIENCE_MS,
  );
  const response = await openai.responses.create(
    { model: 'claude', input: said },
    { headers: { 'x-gateway-virtual-key': 'claude' } },
  );
  const later = { model: 'claude', input: said, background: true, stream: true } as const;
  for await (const _ of await openai.responses.create(later, { headers: { 'x-gateway-virtual-key': 'claude' } }));
  const { response: chat } = await openai.chat.completions
    .create({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: said }] })
    .withResponse();
  const feedback = await api.post('/v1/feedback', { trace_id: 'trace', value: 5 }, { key });
  if (feedback.status !== 200) throw new Error(`feedback: ${feedback.text}`);
  const at = `${Date.now()}000000`;
  const span = {
    traceId: 'a'.repeat(32),
    spanId: 'b'.repeat(16),
    name: said,
    startTimeUnixNano: at,
    endTimeUnixNano: at,
  };
  const spans = await api.post('/v1/otel/v1/traces', { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] }, { key });
  if (spans.text !== '{}') throw new Error(`spans: ${spans.text}`);
  return { thread, run, file, store, upload, batch, job, response, logId: chat.headers.get('x-gateway-request-id')! };
}
