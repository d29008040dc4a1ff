import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { checkedFetch } from '../assistants/checked-fetch.ts';
import { scripted, time, weather } from '../assistants/client.ts';
import { CLIENT_MAJORS, type ClientMajor } from '../assistants/client-majors.ts';
import { codeInterpreter, fileSearch, type Story } from '../assistants/file-stories.ts';
import { dataDirWithSnapshot, PREPARED_MS } from '../assistants/sandbox.ts';
import { startGateway, type TestGateway } from '../gateway.ts';
import { eventually } from '../process.ts';

let gateway: TestGateway;
let dataDir: string;
/** Where runs have a second to live. */
let hasty: TestGateway;

beforeAll(async () => {
  dataDir = await dataDirWithSnapshot();
  gateway = await startGateway({
    environment: {
      GATEWAY_DATA_DIR: dataDir,
      GATEWAY_EMBEDDINGS_VIRTUAL_KEY: 'sim',
      GATEWAY_EMBEDDINGS_MODEL: 'text-embedding-3-small',
    },
  });
  hasty = await startGateway({ environment: { GATEWAY_RUN_SECONDS: '1' } });
}, PREPARED_MS);
afterAll(async () => {
  await gateway.stop();
  await hasty.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

const ANSWER = 'This is a simulated answer. You said: "Hello"';
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg==',
  'base64',
);

describe.each(Object.keys(CLIENT_MAJORS))('%s, unmodified', (major) => {
  const { fetch, checked, seen } = checkedFetch();
  let client: ClientMajor;
  let openai: ClientMajor['openai'];

  const open = async ({ url, given }: TestGateway) => {
    const { key } = await given.apiKey({ defaults: { virtual_key: 'sim' } });
    return CLIENT_MAJORS[major]!({ url, key, fetch });
  };
  beforeAll(async () => {
    client = await open(gateway);
    ({ openai } = client);
  });
  /** Whatever a test looked at: every answer and every event was one that the API has. */
  afterEach(async () => expect(await checked()).toBeGreaterThan(0));

  const begin = async (said = 'Hello', tools: (typeof weather | typeof time)[] = [], at = openai) => {
    const { id: assistant_id } = await at.beta.assistants.create({ model: 'gpt-5', tools });
    const { id: thread_id } = await at.beta.threads.create({ messages: [{ role: 'user', content: said }] });
    return { assistant_id, thread_id };
  };
  const history = async (threadId: string) => {
    const said: string[] = [];
    for await (const { role, content } of openai.beta.threads.messages.list(threadId, { order: 'asc' }))
      said.push(
        `${role}: ${content.map((block) => (block.type === 'text' ? block.text.value : block.type)).join(' ')}`,
      );
    return said;
  };
  const messageOf = (error: Error) => error.message;

  test('creates a run and polls it', async () => {
    const { assistant_id, thread_id } = await begin();
    const run = await openai.beta.threads.runs.createAndPoll(thread_id, { assistant_id });
    expect(run.status).toBe('completed');
    expect(await history(thread_id)).toEqual(['user: Hello', `assistant: ${ANSWER}`]);
    const { data: steps } = await client.listSteps({ thread_id, run_id: run.id });
    expect(steps.map(({ type, status }) => `${type} ${status}`)).toEqual(['message_creation completed']);
  });

  test('streams with its helpers', async () => {
    const { assistant_id, thread_id } = await begin();
    const heard: string[] = [];
    let text = '';
    const stream = openai.beta.threads.runs
      .stream(thread_id, { assistant_id })
      .on('messageCreated', ({ status }) => heard.push(`message ${status}`))
      .on('textCreated', () => heard.push('text'))
      .on('textDelta', ({ value }) => {
        text += value ?? '';
      })
      .on('textDone', ({ value }) => heard.push(value))
      .on('messageDone', ({ status }) => heard.push(`message ${status}`))
      .on('runStepDone', ({ status }) => heard.push(`step ${status}`));
    expect((await stream.finalRun()).status).toBe('completed');
    expect(text).toBe(ANSWER);
    expect(heard).toEqual(['message in_progress', 'text', ANSWER, 'message completed', 'step completed']);
    const [message] = await stream.finalMessages();
    expect(message!.content[0]).toMatchObject({ type: 'text', text: { value: ANSWER } });

    const thread = { messages: [{ role: 'user' as const, content: 'Hello' }] };
    const whole = openai.beta.threads.createAndRunStream({ assistant_id, thread });
    expect((await whole.finalRun()).status).toBe('completed');
  });

  test('goes through functions that are called together, by polling and by streams', async () => {
    const said = 'call get_weather {"city":"Oslo"} and get_time';
    const { assistant_id, thread_id } = await begin(said, [weather, time]);
    const asked = await openai.beta.threads.runs.createAndPoll(thread_id, { assistant_id });
    const { tool_calls } = asked.required_action!.submit_tool_outputs;
    expect(tool_calls.map((call) => `${call.function.name}(${call.function.arguments})`)).toEqual([
      'get_weather({"city":"Oslo"})',
      'get_time({})',
    ]);
    const outputs = tool_calls.map(({ id }, index) => ({ tool_call_id: id, output: `output ${index}` }));
    const place = { thread_id, run_id: asked.id };
    expect(await client.submitAndPoll(place, outputs.slice(1)).catch(messageOf)).toContain('Expected tool outputs for');
    expect((await client.submitAndPoll(place, outputs)).status).toBe('completed');
    expect((await history(thread_id)).at(-1)).toContain('The tool said: "output 1"');

    const second = await begin(said, [weather, time]);
    const calls = new Map<number, string>();
    const waiting = await openai.beta.threads.runs
      .stream(second.thread_id, { assistant_id: second.assistant_id })
      .on('toolCallDelta', (delta) => {
        if (delta.type === 'function')
          calls.set(delta.index, (calls.get(delta.index) ?? '') + (delta.function?.arguments ?? ''));
      })
      .finalRun();
    expect([...calls.values()]).toEqual(['{"city":"Oslo"}', '{}']);
    const again = waiting.required_action!.submit_tool_outputs.tool_calls.map(({ id }) => ({
      tool_call_id: id,
      output: 'sunny',
    }));
    const stream = client.submitStream({ thread_id: second.thread_id, run_id: waiting.id }, again);
    expect((await stream.finalRun()).status).toBe('completed');
  });

  const tell = async ({ model, tell: storyOf }: Story) => {
    const { key, provider } = await scripted(gateway, model);
    await storyOf(CLIENT_MAJORS[major]!({ url: gateway.url, key, fetch }), provider);
    provider.stop();
  };

  test('has answers from files cited, and what was found shown with its text when it asks for it', () =>
    tell(fileSearch));

  test('has a file computed from a CSV by code, and downloads it', () => tell(codeInterpreter));

  test('shows images by address and from a file', async () => {
    const file = await openai.files.create({ file: new File([PNG], 'dot.png'), purpose: 'vision' });
    const { assistant_id, thread_id } = await begin();
    await openai.beta.threads.messages.create(thread_id, {
      role: 'user',
      content: [
        { type: 'text', text: 'What is this?' },
        { type: 'image_file', image_file: { file_id: file.id, detail: 'low' } },
        { type: 'image_url', image_url: { url: 'https://images.example/dot.png' } },
      ],
    });
    const run = await openai.beta.threads.runs.createAndPoll(thread_id, { assistant_id });
    expect(run.status).toBe('completed');
    expect((await history(thread_id))[1]).toBe('user: What is this? image_file image_url');
  });

  test('cancels what is under way and what waits for outputs', async () => {
    const talking = await begin('Talk. [[simulate: chunk-delay=30, length=500]]');
    const stream = openai.beta.threads.runs.stream(talking.thread_id, { assistant_id: talking.assistant_id });
    const begun = Promise.withResolvers<string>();
    stream.on('textDelta', () => begun.resolve(stream.currentRun()!.id));
    const place = { thread_id: talking.thread_id, run_id: await begun.promise };
    expect((await client.cancelRun(place)).status).toBe('cancelling');
    expect((await stream.finalRun()).status).toBe('cancelled');
    expect(await client.cancelRun(place).catch(messageOf)).toBe("400 Cannot cancel run with status 'cancelled'.");

    const waiting = await begin('call get_time', [time]);
    const { assistant_id } = waiting;
    const { id } = await openai.beta.threads.runs.createAndPoll(waiting.thread_id, { assistant_id });
    await client.cancelRun({ thread_id: waiting.thread_id, run_id: id });
    expect((await client.pollRun({ thread_id: waiting.thread_id, run_id: id })).status).toBe('cancelled');
  });

  test('sees a run expire that nobody answered', async () => {
    const other = await open(hasty);
    const { assistant_id, thread_id } = await begin('call get_time', [time], other.openai);
    const run = await other.openai.beta.threads.runs.create(thread_id, { assistant_id });
    const place = { thread_id, run_id: run.id };
    await eventually('it expires', async () => (await other.retrieveRun(place)).status === 'expired');
    const expired = await other.retrieveRun(place);
    expect([expired.status, expired.expires_at, expired.required_action]).toEqual(['expired', null, null]);
    expect(await other.submitAndPoll(place, [{ tool_call_id: 'call_1', output: '' }]).catch(messageOf)).toBe(
      '400 Runs in status "expired" do not accept tool outputs.',
    );
  });

  test('pages through messages, runs and assistants in both orders', async () => {
    const { assistant_id, thread_id } = await begin('0');
    for (let number = 1; number < 7; number++)
      await openai.beta.threads.messages.create(thread_id, { role: 'user', content: String(number) });
    expect(await history(thread_id)).toEqual([...'0123456'].map((number) => `user: ${number}`));
    const newest: string[] = [];
    for await (const { id } of openai.beta.threads.messages.list(thread_id, { limit: 2 })) newest.push(id);
    expect(newest).toHaveLength(7);
    const [second, third] = newest.slice(1, 3);
    const page = await openai.beta.threads.messages.list(thread_id, { limit: 1, after: second });
    expect(page.data.map(({ id }) => id)).toEqual([third!]);

    const runs: string[] = [];
    for (let number = 0; number < 3; number++)
      runs.push((await openai.beta.threads.runs.createAndPoll(thread_id, { assistant_id })).id);
    const listed: string[] = [];
    for await (const { id } of openai.beta.threads.runs.list(thread_id, { limit: 1, order: 'asc' })) listed.push(id);
    expect(listed).toEqual(runs);
    const assistants: string[] = [];
    for await (const { id } of openai.beta.assistants.list({ limit: 3 })) assistants.push(id);
    expect(assistants).toContain(assistant_id);
    expect(await openai.beta.threads.messages.list(thread_id, { limit: 101 }).then(() => '', messageOf)).toContain(
      "Invalid 'limit'",
    );
  });

  test('uploads at once and in parts, and deletes what it made', async () => {
    const file = await openai.files.create({ file: new File(['a,b\n1,2\n'], 'table.csv'), purpose: 'assistants' });
    expect(await (await openai.files.content(file.id)).text()).toBe('a,b\n1,2\n');
    const upload = await openai.uploads.create({
      filename: 'long.txt',
      purpose: 'assistants',
      bytes: 10,
      mime_type: 'text/plain',
    });
    const parts = [];
    for (const text of ['01234', '56789'])
      parts.push(await openai.uploads.parts.create(upload.id, { data: new File([text], 'part') }));
    const done = await openai.uploads.complete(upload.id, { part_ids: parts.map(({ id }) => id) });
    expect(await (await openai.files.content(done.file!.id)).text()).toBe('0123456789');

    const { assistant_id, thread_id } = await begin();
    const [message] = (await openai.beta.threads.messages.list(thread_id)).data;
    await client.deleteMessage(thread_id, message!.id);
    expect(await history(thread_id)).toEqual([]);
    await client.deleteThread(thread_id);
    await client.deleteAssistant(assistant_id);
    await client.deleteFile(file.id);
    expect(await openai.beta.threads.retrieve(thread_id).then(() => '', messageOf)).toBe(
      `404 No thread found with id '${thread_id}'.`,
    );
  });

  test('has been told every kind of event that these stories have', async () => {
    expect([...seen].filter((name) => name.startsWith('thread.run.step.')).sort()).toEqual([
      'thread.run.step.cancelled',
      'thread.run.step.completed',
      'thread.run.step.created',
      'thread.run.step.delta',
      'thread.run.step.in_progress',
    ]);
    await openai.beta.assistants.list({ limit: 1 });
  });
});
