import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exportedMessage, vendorId, writeExportFolder } from '../assistants/export-folder.ts';
import { startProvider, type TestProvider } from '../gateway.ts';
import { createDatabase } from '../postgres.ts';
import { commands, forTests, newDataDir, removeDataDir, runGateway, startProcess } from '../process.ts';
import { openaiClient } from '../sdk-clients.ts';
import { query } from '../state-tables.ts';

let provider: TestProvider;
const homes: string[] = [];
beforeAll(() => {
  provider = startProvider();
});
afterAll(() => {
  provider.stop();
  for (const home of homes) removeDataDir(home);
});

const newHome = () => {
  homes.push(newDataDir());
  return homes.at(-1)!;
};
const encryptionKey = Buffer.alloc(32, 1).toString('base64');
const onDatabase = (url: string) => ({ ...forTests, DATABASE_URL: url, GATEWAY_ENCRYPTION_KEY: encryptionKey });

const thread = 'thread_9vKx2Zq7WfP0LmN4sT8dYbRc';
const other = 'thread_0aBcDeFgHiJkLmNoPqRsTuVw';
const assistant = 'asst_zZ9yY8xX7wW6vV5uU4tT3sS2';
const image = 'file-abcDEF123';
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg==',
  'base64',
);

/**
 * As a customer would have it who asked the vendor for everything; messages come newest first, several in one second.
 */
const EXPORT = {
  assistants: [
    {
      id: assistant,
      object: 'assistant',
      created_at: 1_699_000_000,
      name: 'Helper',
      description: null,
      model: 'gpt-4o',
      instructions: 'Be brief.',
      tools: [{ type: 'function', function: { name: 'get_time', strict: false } }],
      tool_resources: { file_search: { vector_store_ids: ['vs_1'] } },
      metadata: { team: 'blue' },
      temperature: 1,
      top_p: 1,
      response_format: 'auto',
    },
  ],
  threads: [
    { id: thread, object: 'thread', created_at: 1_700_000_000, tool_resources: {}, metadata: { user: '7' } },
    { id: other, object: 'thread', created_at: 1_700_000_001, tool_resources: null, metadata: {} },
  ],
  messages: [
    exportedMessage(thread, 'fourth', {
      created_at: 1_700_000_009,
      content: [
        { type: 'text', text: { value: 'fourth', annotations: [] } },
        { type: 'image_file', image_file: { file_id: image, detail: 'auto' } },
      ],
    }),
    exportedMessage(thread, 'third', {
      created_at: 1_700_000_001,
      role: 'assistant',
      assistant_id: assistant,
      run_id: 'run_1',
    }),
    exportedMessage(thread, 'second', { created_at: 1_700_000_001 }),
    exportedMessage(other, 'alone', {
      created_at: 1_700_000_001,
      status: 'incomplete',
      incomplete_details: { reason: 'max_tokens' },
    }),
    exportedMessage(thread, 'first'),
  ],
  files: [{ id: image, content: PNG, filename: 'dot.png', purpose: 'vision', bytes: PNG.byteLength }],
};

async function withGateway<Result>(
  home: string,
  environment: Record<string, string>,
  work: (openai: ReturnType<typeof openaiClient>) => Promise<Result>,
): Promise<Result> {
  const gateway = await startProcess({ dataDir: home, environment });
  try {
    await gateway.api.post('/v1/virtual-keys', {
      name: 'sim',
      slug: 'sim',
      provider: 'openai',
      key: 'sk-test',
      custom_host: provider.url,
    });
    const { json } = await gateway.api.post('/v1/api-keys', { name: 'app', defaults: { virtual_key: 'sim' } });
    return await work(openaiClient(gateway.url, json.key));
  } finally {
    await gateway.stop();
  }
}

const textsIn = async (openai: ReturnType<typeof openaiClient>, threadId: string) => {
  const texts: string[] = [];
  for await (const { content } of openai.beta.threads.messages.list(threadId, { order: 'asc', limit: 2 }))
    texts.push(content.map((block) => (block.type === 'text' ? block.text.value : block.type)).join('+'));
  return texts;
};

describe.each(['sqlite', 'postgres'] as const)('an export, on %s', (engine) => {
  test('is taken over with its ids and goes on; again it changes nothing, and later messages are added', async () => {
    const home = newHome();
    const databaseUrl = engine === 'sqlite' ? null : await createDatabase();
    const environment = databaseUrl === null ? forTests : onDatabase(databaseUrl);
    const folder = writeExportFolder(join(home, 'export'), EXPORT);
    const run = () => runGateway({ arguments: ['import', 'assistants', folder], dataDir: home, environment });

    const first = await run();
    expect(first).toMatchObject({ exitCode: 0 });
    expect(first.output).toContain('1 assistants, 2 threads, 5 messages, 1 files in the export.');
    expect(first.output).toContain('1 assistants, 2 threads, 5 messages, 1 files taken over');
    expect(first.output).toContain('assistants.jsonl:1: tool_resources.file_search: vector store vs_1');
    expect(first.errors).toContain('100 %, 9 of 9 objects\n');
    expect((await run()).output).toContain('0 assistants, 0 threads, 0 messages, 0 files taken over');
    const place = { databaseUrl, dataDir: join(home, 'data') };
    const records = await query(place, "select action, uri from audit_records where resource_type = 'assistants'");
    expect(records).toEqual(Array(2).fill({ action: 'import', uri: 'cli:import/assistants' }));

    await withGateway(home, environment, async (openai) => {
      expect(await openai.beta.assistants.retrieve(assistant)).toMatchObject({
        created_at: 1_699_000_000,
        model: 'gpt-4o',
        metadata: { team: 'blue' },
        temperature: 1,
        tool_resources: {},
      });
      expect(await textsIn(openai, thread)).toEqual(['first', 'second', 'third', 'fourth+image_file']);
      const [alone] = (await openai.beta.threads.messages.list(other)).data;
      expect(alone).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_tokens' } });
      expect((await openai.files.retrieve(image)).filename).toBe('dot.png');
      const poll = await openai.beta.threads.runs.createAndPoll(thread, { assistant_id: assistant });
      expect(poll.status).toBe('completed');
      expect(await textsIn(openai, thread)).toHaveLength(5);
      await openai.beta.threads.messages.delete(alone!.id, { thread_id: other });
    });

    writeExportFolder(folder, {
      ...EXPORT,
      messages: [...EXPORT.messages, exportedMessage(other, 'later', { created_at: 1_700_000_100 })],
    });
    expect((await run()).output).toContain('0 assistants, 0 threads, 1 messages, 0 files taken over');
    await withGateway(home, environment, async (openai) => {
      // What was deleted here stays deleted.
      expect(await textsIn(openai, other)).toEqual(['later']);
      await openai.beta.threads.delete(other);
    });
    writeExportFolder(folder, {
      ...EXPORT,
      messages: [...EXPORT.messages, exportedMessage(other, 'later still', { created_at: 1_700_000_200 })],
    });
    expect((await run()).output).toContain('0 assistants, 0 threads, 0 messages, 0 files taken over');
  });
});

test('every fault is listed with its line, and nothing is changed', async () => {
  const home = newHome();
  const [good] = EXPORT.messages;
  const folder = writeExportFolder(join(home, 'export'), {
    ...EXPORT,
    assistants: [{ ...EXPORT.assistants[0], model: undefined, nonsense: 1 }],
    threads: [EXPORT.threads[0]!, EXPORT.threads[0]!],
    messages: [
      good!,
      good!,
      exportedMessage('thread_unknown', 'lost'),
      exportedMessage(thread, 'ms', { created_at: 1_700_000_000_000 }),
      exportedMessage(thread, 'open', { status: 'in_progress' }),
    ],
    files: [{ ...EXPORT.files[0]!, bytes: 1 } as (typeof EXPORT.files)[0]],
  });
  const { exitCode, errors } = await runGateway({ arguments: ['import', 'assistants', folder], dataDir: home });
  expect(exitCode).toBe(1);
  for (const line of [
    `files.jsonl:1: bytes: files/${image} has ${PNG.byteLength} bytes, not 1`,
    'assistants.jsonl:1: model: ',
    'assistants.jsonl:1: nonsense: is not known here',
    `threads.jsonl:2: id: ${thread} is there twice`,
    'messages.jsonl:2: id: ',
    'messages.jsonl:3: thread_id: thread_unknown is in no line of threads.jsonl',
    'messages.jsonl:4: created_at: give seconds since 1970',
    'messages.jsonl:5: status: take it out',
    'Nothing was changed.',
  ])
    expect(errors).toContain(line);
  expect(existsSync(join(home, 'state.db'))).toBe(false);
});

test('files that are nowhere are faults, or are left out when that was asked for', async () => {
  const home = newHome();
  const folder = writeExportFolder(join(home, 'export'), { ...EXPORT, files: [] });
  const run = (...flags: string[]) =>
    runGateway({ arguments: ['import', 'assistants', folder, ...flags], dataDir: home, environment: forTests });
  expect((await run()).errors).toContain(
    `messages.jsonl:1: file ${image} is in no line of files.jsonl and is not here`,
  );
  expect((await run('--leave-out-missing-files', '--dry-run')).output).not.toContain('taken over;');
  const done = await run('--leave-out-missing-files');
  expect([done.exitCode, done.output]).toEqual([
    0,
    expect.stringContaining(`messages.jsonl:1: file ${image} is in no`),
  ]);
  await withGateway(home, forTests, async (openai) => {
    expect((await textsIn(openai, thread)).at(-1)).toBe(`fourth+[image ${image} is not here]`);
  });
});

test('so are files of which the export has no content, and citations of them are reported', async () => {
  const home = newHome();
  const [held, cited, made] = ['file-heldBack', 'file-citedOnly', 'file-madeThere'];
  const line = (id: string) => ({
    id,
    object: 'file',
    created_at: 1_690_000_000,
    filename: 'a.txt',
    purpose: 'assistants',
  });
  const annotations = [
    { type: 'file_citation', text: '【1†a】', start_index: 4, end_index: 9, file_citation: { file_id: cited } },
    { type: 'file_citation', text: '【2†a】', start_index: 9, end_index: 14, file_citation: { file_id: cited } },
    { type: 'file_path', text: 'sandbox:/b', start_index: 14, end_index: 24, file_path: { file_id: made } },
    { type: 'file_citation', text: '【3†a】', start_index: 24, end_index: 29, file_citation: { file_id: held } },
  ];
  const value = 'See 【1†a】【2†a】sandbox:/b【3†a】';
  const folder = writeExportFolder(join(home, 'export'), {
    assistants: [{ ...EXPORT.assistants[0], tool_resources: { code_interpreter: { file_ids: [held] } } }],
    threads: EXPORT.threads,
    messages: [
      exportedMessage(thread, 'one', { attachments: [{ file_id: held, tools: [{ type: 'file_search' }] }] }),
      exportedMessage(thread, 'two', { role: 'assistant', content: [{ type: 'text', text: { value, annotations } }] }),
    ],
  });
  // Their content is nowhere: the vendor shows such files and does not give them out.
  writeFileSync(join(folder, 'files.jsonl'), `${JSON.stringify(line(held!))}\n`);
  const run = (...flags: string[]) =>
    runGateway({ arguments: ['import', 'assistants', folder, ...flags], dataDir: home, environment: forTests });
  const refused = await run();
  expect(refused.exitCode).toBe(1);
  const lines = [
    `files.jsonl:1: file ${held} has no content in the export and is not here`,
    `assistants.jsonl:1: file ${held} has no content in the export and is not here`,
    `messages.jsonl:1: file ${held} has no content in the export and is not here`,
    `messages.jsonl:2: file ${cited}, which is cited, is in no line of files.jsonl and is not here; `,
    `messages.jsonl:2: file ${made}, which is cited, is in no line of files.jsonl and is not here; `,
    `messages.jsonl:2: file ${held}, which is cited, has no content in the export and is not here; `,
  ];
  for (const each of lines) expect(refused.errors).toContain(each);
  expect(refused.errors).toContain('6 faults');

  const done = await run('--leave-out-missing-files');
  expect(done.exitCode).toBe(0);
  for (const each of lines) expect(done.output.split(each)).toHaveLength(2);
  expect(done.output).toContain('the citation stays');
  expect(done.output).toContain('0 files taken over');
  await withGateway(home, forTests, async (openai) => {
    const found = await openai.beta.assistants.retrieve(assistant);
    expect(found.tool_resources?.code_interpreter?.file_ids).toEqual([]);
    const [second, first] = (await openai.beta.threads.messages.list(thread)).data;
    expect(first!.attachments).toEqual([]);
    expect(second!.content).toEqual([{ type: 'text', text: { value, annotations: annotations as never } }]);
    expect((await openai.files.list()).data).toEqual([]);
  });
});

test('a file whose content came with an earlier export needs none in the next', async () => {
  const home = newHome();
  const files = [{ id: image, content: PNG, purpose: 'vision' }];
  const run = (folder: string) =>
    runGateway({ arguments: ['import', 'assistants', folder], dataDir: home, environment: forTests });
  expect((await run(writeExportFolder(join(home, 'first'), { ...EXPORT, files }))).exitCode).toBe(0);
  const next = writeExportFolder(join(home, 'next'), { ...EXPORT, files });
  rmSync(join(next, 'files', image));
  expect(await run(next)).toMatchObject({ exitCode: 0 });
});

test('an import that was killed is whole after the next, with nothing twice', async () => {
  const home = newHome();
  const ids = Array.from({ length: 600 }, (_, number) => vendorId('thread_', `t${number}`));
  const folder = writeExportFolder(join(home, 'export'), {
    threads: ids.map((id) => ({ id, created_at: 1_700_000_000, metadata: {} })),
    messages: ids.flatMap((id) => Array.from({ length: 5 }, (_, number) => exportedMessage(id, `m${number}`))),
  });
  const child = Bun.spawn([...commands.program, 'import', 'assistants', folder], {
    cwd: home,
    env: { PATH: process.env.PATH, ...forTests, GATEWAY_DATA_DIR: join(home, 'data') },
    stdout: 'ignore',
    stderr: 'pipe',
  });
  for await (const piece of child.stderr) if (new TextDecoder().decode(piece).includes('20 %')) break;
  child.kill('SIGKILL');
  await child.exited;

  const again = await runGateway({ arguments: ['import', 'assistants', folder], dataDir: home, environment: forTests });
  expect(again.exitCode).toBe(0);
  const [, threads, messages] = /(\d+) threads, (\d+) messages, 0 files taken over/.exec(again.output)!.map(Number);
  expect(threads).toBeGreaterThan(0);
  expect(threads).toBeLessThan(600);
  expect(messages).toBe(threads! * 5);
  await withGateway(home, forTests, async (openai) => {
    for (const id of [ids[0]!, ids[200]!, ids[599]!])
      expect(await textsIn(openai, id)).toEqual(['m0', 'm1', 'm2', 'm3', 'm4']);
  });
});
