import { afterAll, beforeAll, expect, test } from 'bun:test';
import type OpenAI from 'openai';
import { toFile } from 'openai';
import { clientFor } from '../assistants/client.ts';
import { startGateway, type TestGateway } from '../gateway.ts';
import { eventually } from '../process.ts';

let gateway: TestGateway;
let openai: OpenAI;
let key: string;
beforeAll(async () => {
  gateway = await startGateway();
  ({ openai, key } = await clientFor(gateway));
});
afterAll(() => gateway.stop());

const uploaded = async (text: string) => {
  const file = await toFile(new TextEncoder().encode(text), 'a.txt');
  return (await openai.files.create({ file, purpose: 'assistants' })).id;
};
const searched = (tool_resources: { file_search?: { vector_store_ids?: string[] } } | null) =>
  tool_resources?.file_search?.vector_store_ids ?? [];
const taken = (storeId: string, files: number) =>
  eventually(
    'the files are in',
    async () => (await openai.vectorStores.retrieve(storeId)).file_counts.completed === files,
  );

test('an assistant may be created with a store of its own, which does not expire', async () => {
  const file_ids = [await uploaded('one'), await uploaded('two')];
  const assistant = await openai.beta.assistants.create({
    model: 'gpt-5',
    tools: [{ type: 'file_search' }],
    tool_resources: { file_search: { vector_stores: [{ file_ids, metadata: { for: 'it' } }] } },
  });
  const [storeId, ...more] = searched(assistant.tool_resources ?? null);
  expect(more).toEqual([]);
  expect(Object.keys(assistant.tool_resources!.file_search!)).toEqual(['vector_store_ids']);
  await taken(storeId!, 2);
  const store = await openai.vectorStores.retrieve(storeId!);
  expect(store).toMatchObject({ expires_at: null, metadata: { for: 'it' } });
});

test('a thread may be, too, and its store lives for a week', async () => {
  const thread = await openai.beta.threads.create({
    tool_resources: { file_search: { vector_stores: [{ file_ids: [await uploaded('mine')] }] } },
  });
  const [storeId] = searched(thread.tool_resources);
  expect(await openai.vectorStores.retrieve(storeId!)).toMatchObject({
    expires_after: { anchor: 'last_active_at', days: 7 },
  });
});

test('what is attached to messages for search goes into the thread’s store, which is made when there is none', async () => {
  const [first, second, third] = [await uploaded('first'), await uploaded('second'), await uploaded('third')];
  const attached = (file_id: string) => ({ file_id, tools: [{ type: 'file_search' as const }] });
  const thread = await openai.beta.threads.create({
    messages: [{ role: 'user', content: 'Look', attachments: [attached(first), attached(second)] }],
  });
  const [storeId] = searched(thread.tool_resources);
  await taken(storeId!, 2);
  const message = await openai.beta.threads.messages.create(thread.id, {
    role: 'user',
    content: 'And this',
    attachments: [attached(third)],
  });
  expect(message.attachments).toEqual([attached(third)]);
  expect(searched((await openai.beta.threads.retrieve(thread.id)).tool_resources)).toEqual([storeId!]);
  await taken(storeId!, 3);
  expect(await openai.vectorStores.retrieve(storeId!)).toMatchObject({ expires_after: { days: 7 } });

  // A store that is gone is replaced, for whatever comes next.
  await openai.vectorStores.delete(storeId!);
  await openai.beta.threads.messages.create(thread.id, { role: 'user', content: 'x', attachments: [attached(first)] });
  const [next] = searched((await openai.beta.threads.retrieve(thread.id)).tool_resources);
  expect(next).not.toBe(storeId);
  await taken(next!, 1);
});

test('a run may begin a thread with a store', async () => {
  const assistant = await openai.beta.assistants.create({ model: 'gpt-5' });
  const run = await openai.beta.threads.createAndRun({
    assistant_id: assistant.id,
    thread: {
      messages: [{ role: 'user', content: 'Hello' }],
      tool_resources: { file_search: { vector_stores: [{ file_ids: [await uploaded('x')] }] } },
    },
  });
  expect(searched((await openai.beta.threads.retrieve(run.thread_id)).tool_resources).length).toBe(1);
});

test('resources that do not exist, or in a form that is not possible, are refused', async () => {
  const { id } = await openai.vectorStores.create({});
  const refused = async (path: string, body: object) => {
    const { status, json } = await gateway.api.post(path, body, { key });
    return [status, json.error.message];
  };
  const resources = (file_search: object) => ({ model: 'gpt-5', tool_resources: { file_search } });
  expect(await refused('/v1/assistants', resources({ vector_store_ids: ['vs_missing'] }))).toEqual([
    404,
    "No vector store found with id 'vs_missing'.",
  ]);
  expect(await refused('/v1/assistants', resources({ vector_store_ids: [id, id] }))).toEqual([
    400,
    "Invalid 'tool_resources.file_search.vector_store_ids': array too long. Expected an array with maximum length 1, but got an array with length 2 instead.",
  ]);
  expect(await refused('/v1/assistants', resources({ vector_store_ids: [id], vector_stores: [{}] }))).toEqual([
    400,
    "Invalid 'tool_resources.file_search.vector_stores': give either 'vector_store_ids' or 'vector_stores', not both.",
  ]);
  expect(await refused('/v1/assistants', resources({ vector_stores: [{ file_ids: ['file-missing'] }] }))).toEqual([
    404,
    'No such File object: file-missing',
  ]);
  const assistant = await openai.beta.assistants.create({ model: 'gpt-5' });
  const { model: _, ...inline } = resources({ vector_stores: [{}] });
  expect(await refused(`/v1/assistants/${assistant.id}`, inline)).toEqual([
    400,
    "Unknown parameter: 'tool_resources.file_search.vector_stores'.",
  ]);
  const { data } = await openai.beta.assistants.list({ limit: 1 });
  expect(data[0]!.id).toBe(assistant.id);
});
