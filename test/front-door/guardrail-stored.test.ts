import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { chatLine, ended, linesIn, uploadLines } from '../batch-lines.ts';
import { startGateway, type TestGateway } from '../gateway.ts';
import { startRecorder } from '../recorder.ts';
import { openaiClient } from '../sdk-clients.ts';

/**
 * What is stored first and sent to a model later: messages of threads with their runs, and lines of batches. They are
 * judged when they are sent. Read off the wire: what a guardrail denies reaches neither the provider nor the client.
 */
const DENIED = 'please take this forbidden moonshine-4711 along';
const FINE = 'please take this along';
const SEEN_BY_NOBODY = '4711';

const provider = startRecorder();
let gateway: TestGateway;
const keys: Record<'input' | 'output', string> = { input: '', output: '' };

beforeAll(async () => {
  gateway = await startGateway();
  await gateway.given.virtualKey({ slug: 'recorded', custom_host: `${provider.origin}/v1` });
  const guardrail = await gateway.api.post('/v1/guardrails', {
    name: 'Nothing forbidden',
    checks: [{ id: 'default.contains', parameters: { words: ['forbidden'], operator: 'none' } }],
    actions: { deny: true },
  });
  expect(guardrail.status).toBe(200);
  const { slug } = guardrail.json;
  for (const side of ['input', 'output'] as const) {
    const defaults = { virtual_key: 'recorded', [`${side}_guardrails`]: [slug] };
    keys[side] = (await gateway.given.apiKey({ defaults })).key;
  }
});
afterAll(async () => {
  await gateway.stop();
  provider.stop();
});
beforeEach(() => {
  provider.requests.length = 0;
});

/** A model that says the text, in small pieces where a stream is asked for. */
function says(text: string) {
  provider.answers(({ json }) => {
    const head = { id: 'c', created: 1, model: 'm' };
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    if (!json.stream) {
      const message = { role: 'assistant', content: text };
      return Response.json({
        ...head,
        ...{ object: 'chat.completion', usage, choices: [{ index: 0, message, finish_reason: 'stop' }] },
      });
    }
    const chunk = (delta: object, finish_reason: string | null) => ({
      ...{ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] },
    });
    const pieces = (text.match(/.{1,3}/gs) ?? []).map((content) => chunk({ content }, null));
    const events = [...pieces, chunk({}, 'stop'), { ...chunk({}, null), choices: [], usage }];
    const lines = [...events.map((event) => JSON.stringify(event)), '[DONE]'];
    return new Response(lines.map((line) => `data: ${line}\n\n`).join(''), {
      headers: { 'content-type': 'text/event-stream' },
    });
  });
}

const sent = () => provider.requests.map(({ text }) => text).join('\n');

describe('messages and runs', () => {
  const clientOf = (side: 'input' | 'output') => openaiClient(gateway.url, keys[side]);
  const api = (side: 'input' | 'output') => ({
    post: (path: string, body: unknown) => gateway.api.post(path, body, { key: keys[side] }),
    get: (path: string) => gateway.api.get(path, { key: keys[side] }),
  });

  async function run(side: 'input' | 'output', text: string, { isStream }: { isStream: boolean }) {
    const openai = clientOf(side);
    const assistant = await openai.beta.assistants.create({ model: 'm' });
    const thread = await openai.beta.threads.create({ messages: [{ role: 'user', content: 'Hello' }] });
    await openai.beta.threads.messages.create(thread.id, { role: 'user', content: text });
    const { post, get } = api(side);
    const path = `/v1/threads/${thread.id}/runs`;
    const told = isStream
      ? (await post(path, { assistant_id: assistant.id, stream: true })).text
      : JSON.stringify(await openai.beta.threads.runs.createAndPoll(thread.id, { assistant_id: assistant.id }));
    const [last] = (await get(path)).json.data;
    const stored = [
      (await get(`/v1/threads/${thread.id}/messages`)).json.data.filter(
        ({ role }: { role: string }) => role === 'assistant',
      ),
      (await get(`${path}/${last.id}/steps?include[]=step_details`)).json,
    ];
    return { told, run: last, stored: JSON.stringify(stored) };
  }

  for (const isStream of [false, true])
    describe(isStream ? 'streamed' : 'polled', () => {
      test('a message that is fine is answered', async () => {
        says('All is well.');
        const { run: ended } = await run('input', FINE, { isStream });
        expect(ended.status).toBe('completed');
        expect(sent()).toContain(FINE);
      });

      test('a denied message stays in its thread: the run fails and nothing reaches the provider', async () => {
        says('All is well.');
        const { run: ended, told } = await run('input', DENIED, { isStream });
        expect(ended).toMatchObject({ status: 'failed', last_error: { code: 'invalid_prompt' } });
        expect(provider.requests).toEqual([]);
        expect(told).not.toContain(SEEN_BY_NOBODY);
      });

      test('a denied answer reaches neither the client nor the thread', async () => {
        says(DENIED);
        const { run: ended, told, stored } = await run('output', FINE, { isStream });
        expect(provider.requests.length).toBeGreaterThan(0);
        expect(ended.status).toBe('failed');
        expect(told).not.toContain(SEEN_BY_NOBODY);
        expect(stored).not.toContain(SEEN_BY_NOBODY);
      });
    });

  test('instructions of an assistant, and of the run, are judged like messages', async () => {
    says('All is well.');
    const openai = clientOf('input');
    const thread = await openai.beta.threads.create({ messages: [{ role: 'user', content: 'Hello' }] });
    const fine = await openai.beta.assistants.create({ model: 'm' });
    const bad = await openai.beta.assistants.create({ model: 'm', instructions: DENIED });
    for (const body of [
      { assistant_id: bad.id },
      { assistant_id: fine.id, instructions: DENIED },
      { assistant_id: fine.id, additional_messages: [{ role: 'user' as const, content: DENIED }] },
    ]) {
      const over = await openai.beta.threads.runs.createAndPoll(thread.id, body);
      expect(over.status).toBe('failed');
    }
    expect(provider.requests).toEqual([]);
  });
});

describe('lines of a batch', () => {
  async function batch(side: 'input' | 'output', texts: Record<string, string>) {
    const openai = openaiClient(gateway.url, keys[side]);
    const file = await uploadLines(
      openai,
      Object.entries(texts).map(([name, text]) => chatLine(name, text)),
    );
    const begun = await openai.batches.create({
      ...{ input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' },
    });
    const over = await ended(openai, begun.id);
    const good = over.output_file_id ? await linesIn(openai, over.output_file_id) : [];
    const bad = over.error_file_id ? await linesIn(openai, over.error_file_id) : [];
    return { over, good, bad };
  }

  test('that are denied are 446 and reach no provider; the others are answered', async () => {
    says('All is well.');
    const { good, bad } = await batch('input', { fine: FINE, denied: DENIED });
    expect(good).toMatchObject([{ custom_id: 'fine', response: { status_code: 200 } }]);
    expect(bad).toMatchObject([{ custom_id: 'denied', response: { status_code: 446 } }]);
    expect(sent()).not.toContain(SEEN_BY_NOBODY);
    expect(JSON.stringify(bad)).not.toContain(SEEN_BY_NOBODY);
  });

  test('whose answer is denied are 446, and no file has the answer', async () => {
    says(DENIED);
    const { good, bad } = await batch('output', { one: FINE });
    expect(provider.requests.length).toBe(1);
    expect(good).toEqual([]);
    expect(bad).toMatchObject([{ custom_id: 'one', response: { status_code: 446 } }]);
    expect(JSON.stringify(bad)).not.toContain(SEEN_BY_NOBODY);
  });
});
