import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type OpenAI from 'openai';
import {
  checkRun,
  clientFor,
  conversation,
  historyOf,
  scripted,
  stepsOf,
  time,
  weather,
} from '../assistants/client.ts';
import type { ScriptedAnswer } from '../assistants/scripted-provider.ts';
import { startGateway, type TestGateway } from '../gateway.ts';
import { eventually } from '../process.ts';

let gateway: TestGateway;
let openai: OpenAI;

beforeAll(async () => {
  gateway = await startGateway({ environment: { GATEWAY_INTERPRETER: 'false' } });
  ({ openai } = await clientFor(gateway));
});
afterAll(() => gateway.stop());

const SLOW = 'Wait. [[simulate: delay=30000]]';
const headers = { 'x-gateway-virtual-key': 'sim' };
const post = (path: string, body: unknown) => gateway.api.post(`/v1${path}`, body, { headers });
const faultOf = async (path: string, body: unknown) => {
  const { status, json } = await post(path, body);
  return [status, json.error.code, json.error.param, json.error.message];
};

/** A run of a provider that says what it is told; answers the run, its thread and what the provider was asked. */
async function played(
  script: Parameters<typeof scripted>[1] | ScriptedAnswer,
  { said, assistant, ...params }: { said?: string | string[]; assistant?: object } & Record<string, unknown> = {},
) {
  const { openai: client, provider } = await scripted(gateway, typeof script === 'function' ? script : () => script);
  const { thread_id, assistant_id } = await conversation(client, { said, assistant });
  const run = checkRun(await client.beta.threads.runs.createAndPoll(thread_id, { assistant_id, ...params }));
  return { client, run, thread_id, provider, request: provider.requests[0]! };
}

describe('the lock on a thread', () => {
  test('lets exactly one of 100 runs in that are created at once, and tells the others in the words clients know', async () => {
    const { thread_id, assistant_id } = await conversation(openai, { said: SLOW });

    const replies = await Promise.all(
      Array.from({ length: 100 }, () => post(`/threads/${thread_id}/runs`, { assistant_id })),
    );

    const won = replies.filter(({ status }) => status === 200);
    expect(won).toHaveLength(1);
    const { id } = won[0]!.json;
    const message = `Thread ${thread_id} already has an active run ${id}.`;
    const refused = { error: { message, type: 'invalid_request_error', param: null, code: null } };
    for (const { status, json } of replies.filter((reply) => reply !== won[0])) {
      expect(status).toBe(400);
      expect(json).toEqual(refused);
    }
    expect((await post(`/threads/${thread_id}/runs/${id}/cancel`, {})).json.status).toBe('cancelling');
  });

  test('keeps messages out and the thread alive until the run has ended', async () => {
    const { thread_id, assistant_id } = await conversation(openai, { said: SLOW });
    const { id } = (await post(`/threads/${thread_id}/runs`, { assistant_id })).json;

    const message = `Can't add messages to ${thread_id} while a run ${id} is active.`;
    const added = await post(`/threads/${thread_id}/messages`, { role: 'user', content: 'And?' });
    expect(added.json).toEqual({ error: { message, type: 'invalid_request_error', param: null, code: null } });
    const removed = await gateway.api.delete(`/v1/threads/${thread_id}`, { headers });
    expect([removed.status, removed.json.error.message]).toEqual([
      400,
      `Thread ${thread_id} already has an active run ${id}.`,
    ]);
    const listed = await gateway.api.get(`/v1/threads/${thread_id}/messages`, { headers });
    expect(listed.json.data).toHaveLength(1);

    await post(`/threads/${thread_id}/runs/${id}/cancel`, {});
    await eventually('the run is cancelled', async () => {
      const { json } = await gateway.api.get(`/v1/threads/${thread_id}/runs/${id}`, { headers });
      return json.status === 'cancelled';
    });
    expect((await post(`/threads/${thread_id}/messages`, { role: 'user', content: 'And?' })).status).toBe(200);
    expect((await gateway.api.delete(`/v1/threads/${thread_id}`, { headers })).status).toBe(200);
    expect((await gateway.api.get(`/v1/threads/${thread_id}/runs/${id}`, { headers })).status).toBe(404);
  });
});

describe('what is refused', () => {
  test('names the field and the right form', async () => {
    const { thread_id, assistant_id } = await conversation(openai, { assistant: { tools: [weather] } });
    const path = `/threads/${thread_id}/runs`;
    const refusals: [unknown, unknown[]][] = [
      [{}, [400, 'missing_required_parameter', 'assistant_id', "Missing required parameter: 'assistant_id'."]],
      [{ assistant_id: 'asst_x' }, [404, null, null, "No assistant found with id 'asst_x'."]],
      [{ assistant_id, foo: 1 }, [400, 'unknown_parameter', 'foo', "Unknown parameter: 'foo'."]],
      [
        { assistant_id, max_prompt_tokens: 255 },
        [
          400,
          'integer_below_min_value',
          'max_prompt_tokens',
          "Invalid 'max_prompt_tokens': integer below minimum value. Expected a value >= 256, but got 255 instead.",
        ],
      ],
      [
        { assistant_id, tools: Array(21).fill(time) },
        [
          400,
          'array_above_max_length',
          'tools',
          "Invalid 'tools': array too long. Expected an array with maximum length 20, but got an array with length 21 instead.",
        ],
      ],
      [
        { assistant_id, tool_choice: { type: 'function', function: { name: 'nope' } } },
        [400, 'invalid_value', 'tool_choice', "Invalid 'tool_choice': no function in 'tools' is named 'nope'."],
      ],
      [
        { assistant_id, tool_choice: { type: 'file_search' } },
        [400, 'invalid_value', 'tool_choice', "Invalid 'tool_choice': 'file_search' is not one of 'tools'."],
      ],
      [
        { assistant_id, tools: [], tool_choice: 'required' },
        [400, 'invalid_value', 'tool_choice', "Invalid 'tool_choice': 'required' needs at least one tool in 'tools'."],
      ],
      [
        { assistant_id, truncation_strategy: { type: 'last_messages' } },
        [
          400,
          'missing_required_parameter',
          'truncation_strategy.last_messages',
          "Missing required parameter: 'truncation_strategy.last_messages'.",
        ],
      ],
      [
        { assistant_id, tools: [{ type: 'code_interpreter' }] },
        [
          400,
          'unsupported_value',
          'tools',
          "Invalid 'tools': this gateway has no 'code_interpreter'. Use functions instead.",
        ],
      ],
    ];
    for (const [body, fault] of refusals) expect(await faultOf(path, body)).toEqual(fault);
    expect((await gateway.api.get(`/v1${path}`, { headers })).json.data).toEqual([]);
  });

  test('are assistants with tools that this gateway does not have', async () => {
    expect(await faultOf('/assistants', { model: 'm', tools: [{ type: 'code_interpreter' }] })).toEqual([
      400,
      'unsupported_value',
      'tools',
      "Invalid 'tools': this gateway has no 'code_interpreter'. Use functions instead.",
    ]);
  });

  test('are runs without a virtual key, on unknown threads, and of other workspaces', async () => {
    const { thread_id, assistant_id } = await conversation(openai);
    const run = await openai.beta.threads.runs.createAndPoll(thread_id, { assistant_id });
    const { id: workspace } = await gateway.given.workspace();
    const foreign = await gateway.given.apiKey({ workspace_id: workspace, defaults: { virtual_key: 'demo' } });
    await gateway.given.virtualKey({ slug: 'theirs', workspace_id: workspace });
    const theirs = { key: foreign.key, headers: { 'x-gateway-virtual-key': 'theirs' } };

    expect((await gateway.api.post(`/v1/threads/${thread_id}/runs`, { assistant_id })).json.error.code).toBe(
      'missing_virtual_key',
    );
    expect(await faultOf('/threads/thread_x/runs', { assistant_id })).toEqual([
      404,
      null,
      null,
      "No thread found with id 'thread_x'.",
    ]);
    for (const path of ['', '/steps', '/events']) {
      const { status, json } = await gateway.api.get(`/v1/threads/${thread_id}/runs/${run.id}${path}`, theirs);
      expect([status, json.error.message]).toEqual([404, `No thread found with id '${thread_id}'.`]);
    }
    const other = await conversation(openai);
    const elsewhere = await gateway.api.get(`/v1/threads/${other.thread_id}/runs/${run.id}`, { headers });
    expect(elsewhere.json.error.message).toBe(`No run found with id '${run.id}'.`);
    const step = await gateway.api.get(`/v1/threads/${thread_id}/runs/${run.id}/steps/step_x`, { headers });
    expect(step.json.error.message).toBe("No run step found with id 'step_x'.");
  });

  test('are tool outputs that are not exactly those the run waits for, or that come when it waits for none', async () => {
    const said = 'call get_weather and get_time';
    const { thread_id, assistant_id } = await conversation(openai, { assistant: { tools: [weather, time] }, said });
    const run = await openai.beta.threads.runs.createAndPoll(thread_id, { assistant_id });
    const [one, other] = run.required_action!.submit_tool_outputs.tool_calls.map(({ id }) => id);
    const path = `/threads/${thread_id}/runs/${run.id}/submit_tool_outputs`;
    const submit = (...ids: unknown[]) =>
      faultOf(path, { tool_outputs: ids.map((id) => ({ tool_call_id: id, output: 'x' })) });
    const mismatch = (got: string) => [
      400,
      null,
      null,
      `Expected tool outputs for call_ids ['${one}', '${other}'], got ${got}`,
    ];

    expect(await submit(other)).toEqual(mismatch(`['${other}']`));
    expect(await submit(one, one)).toEqual(mismatch(`['${one}', '${one}']`));
    expect(await submit(one, other, 'call_x')).toEqual(mismatch(`['${one}', '${other}', 'call_x']`));
    expect(await submit()).toEqual(mismatch('[]'));
    const outputs = [{ tool_call_id: other, output: 'b' }, { tool_call_id: one }];
    const accepted = await post(path, { tool_outputs: outputs });
    expect([accepted.status, accepted.json.status]).toEqual([200, 'queued']);

    const done = await openai.beta.threads.runs.poll(run.id, { thread_id });
    expect(done.status).toBe('completed');
    expect((await stepsOf(openai, thread_id, run.id))[0]).toBe(
      'tool_calls completed get_weather({}) =  get_time({}) = b',
    );
    expect(await submit(one, other)).toEqual([
      400,
      null,
      null,
      'Runs in status "completed" do not accept tool outputs.',
    ]);
  });
});

describe('what the model is asked', () => {
  test('is what the assistant, the run and the thread say, and nothing that nobody chose', async () => {
    const { request } = await played({ parts: [{ text: 'Yes.' }] }, { said: ['One', 'Two'] });

    expect(request).toEqual({
      model: 'gpt-5',
      messages: [
        { role: 'user', content: 'One' },
        { role: 'user', content: 'Two' },
      ],
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  test('takes over every setting of the run before those of the assistant', async () => {
    const json_schema = { name: 'answer', schema: { type: 'object' }, strict: true };
    const { request, run, thread_id, client } = await played(
      { parts: [{ text: '{}' }] },
      {
        assistant: { instructions: 'Old.', temperature: 0.1, tools: [time], reasoning_effort: 'low' },
        model: 'other',
        instructions: 'New.',
        additional_instructions: 'More.',
        additional_messages: [{ role: 'assistant', content: 'Well?' }],
        tools: [weather],
        temperature: 0.5,
        top_p: 0.9,
        max_completion_tokens: 1000,
        parallel_tool_calls: false,
        reasoning_effort: 'high',
        tool_choice: { type: 'function', function: { name: 'get_weather' } },
        response_format: { type: 'json_schema', json_schema },
      },
    );

    expect(request).toMatchObject({
      model: 'other',
      messages: [
        { role: 'system', content: 'New.\n\nMore.' },
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'Well?' },
      ],
      temperature: 0.5,
      top_p: 0.9,
      max_completion_tokens: 1000,
      parallel_tool_calls: false,
      reasoning_effort: 'high',
      tools: [weather],
      tool_choice: { type: 'function', function: { name: 'get_weather' } },
      response_format: { type: 'json_schema', json_schema },
    });
    expect(run).toMatchObject({ model: 'other', instructions: 'New.\n\nMore.', temperature: 0.5, tools: [weather] });
    expect(await historyOf(client, thread_id)).toEqual([
      'user completed: Hello',
      'assistant completed: Well?',
      'assistant completed: {}',
    ]);
  });

  test('holds the exchanges of this run, and a forced tool only the first time', async () => {
    const { client, run, thread_id, provider } = await played(
      (_request, number) =>
        number === 1
          ? { parts: [{ text: 'Let me see.' }, { call: 'get_weather', arguments: '{"a":1}', id: 'call_1' }] }
          : { parts: [{ text: 'Sunny.' }] },
      { assistant: { tools: [weather] }, tool_choice: 'required' },
    );
    const tool_outputs = [{ tool_call_id: 'call_1', output: 'sun' }];
    const done = await client.beta.threads.runs.submitToolOutputsAndPoll(run.id, { thread_id, tool_outputs });

    const [first, second] = provider.requests;
    expect([first!.tool_choice, second!.tool_choice]).toEqual(['required', undefined]);
    expect(second!.messages).toEqual([
      { role: 'user', content: 'Hello' },
      {
        role: 'assistant',
        content: 'Let me see.',
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"a":1}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'sun' },
    ]);
    expect(done.usage).toEqual({ prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 });
    expect(await historyOf(client, thread_id)).toEqual([
      'user completed: Hello',
      'assistant completed: Let me see.',
      'assistant completed: Sunny.',
    ]);
    expect(await stepsOf(client, thread_id, run.id)).toEqual([
      'message_creation completed',
      'tool_calls completed get_weather({"a":1}) = sun',
      'message_creation completed',
    ]);
  });

  test('shows images by address and by file', async () => {
    const { openai: client, provider } = await scripted(gateway, () => ({ parts: [{ text: 'A dot.' }] }));
    const png = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg==',
      'base64',
    );
    const file = await client.files.create({ file: new File([png], 'dot.png'), purpose: 'vision' });
    const { assistant_id } = await conversation(client);
    const thread = await client.beta.threads.create({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image_url', image_url: { url: 'https://images.example/dot.png', detail: 'low' } },
            { type: 'image_file', image_file: { file_id: file.id } },
          ],
        },
      ],
    });
    const run = await client.beta.threads.runs.createAndPoll(thread.id, { assistant_id });

    expect(run.status).toBe('completed');
    expect(provider.requests[0]!.messages[0].content).toEqual([
      { type: 'text', text: 'What is this?' },
      { type: 'image_url', image_url: { url: 'https://images.example/dot.png', detail: 'low' } },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${png.toString('base64')}`, detail: 'auto' } },
    ]);
  });

  test('is cut to the last messages, or in the middle when the prompt must be short', async () => {
    const said = Array.from({ length: 9 }, (_, number) => `${number} ${'word '.repeat(80)}`);
    const few = await played(
      { parts: [{ text: 'Ok.' }] },
      { said, truncation_strategy: { type: 'last_messages', last_messages: 2 } },
    );
    const numbers = (messages: readonly { content: string }[]) => messages.map(({ content }) => content.split(' ')[0]);
    expect(numbers(few.request.messages)).toEqual(['7', '8']);

    const { request } = await played({ parts: [{ text: 'Ok.' }] }, { said, max_prompt_tokens: 500 });
    const kept = numbers(request.messages);
    expect(kept.length).toBeLessThan(9);
    expect([kept[0], kept.at(-1)]).toEqual(['0', '8']);

    const { run } = await played({ parts: [{ text: 'Ok.' }] }, { said: 'word '.repeat(2_000), max_prompt_tokens: 500 });
    expect([run.status, run.incomplete_details]).toEqual(['incomplete', { reason: 'max_prompt_tokens' }]);
  });

  test('is cut in the middle when the model takes no more', async () => {
    const said = Array.from({ length: 12 }, (_, number) => `${number} ${'word '.repeat(1_000)}`);
    const { request } = await played({ parts: [{ text: 'Ok.' }] }, { said, assistant: { model: 'gpt-4-0613' } });
    const kept = request.messages.map(({ content }: { content: string }) => content.split(' ')[0]);
    expect(kept).toEqual(['0', '1', '10', '11']);

    const { run } = await played(
      { parts: [{ text: 'Ok.' }] },
      { said: 'word '.repeat(9_000), assistant: { model: 'gpt-4-0613' } },
    );
    expect([run.status, run.last_error?.code]).toEqual(['failed', 'invalid_prompt']);
    expect(run.last_error?.message).toContain('gpt-4-0613 takes 4096 tokens beside its answer');
  });

  test('is counted here where the provider does not say what it took', async () => {
    const { run } = await played({ parts: [{ text: 'Hello world' }], usage: null }, { said: 'word '.repeat(50) });
    // 51 for what was said, 4 around it and 8 for what surrounds it all.
    expect(run.usage!.prompt_tokens).toBeGreaterThan(50);
    expect(run.usage!.prompt_tokens).toBeLessThan(75);
    expect(run.usage!.completion_tokens).toBe(2);
  });

  test('may take what is left of the token budgets of the whole run', async () => {
    const { client, run, thread_id, provider } = await played(
      (_request, number) =>
        number === 1
          ? {
              parts: [{ call: 'get_time', arguments: '{}', id: 'call_1' }],
              usage: { prompt_tokens: 200, completion_tokens: 300 },
            }
          : { parts: [{ text: 'Cut off' }], finish: 'length', usage: { prompt_tokens: 10, completion_tokens: 700 } },
      { assistant: { tools: [time] }, max_completion_tokens: 1_000, max_prompt_tokens: 500 },
    );
    const tool_outputs = [{ tool_call_id: 'call_1', output: 'noon' }];
    const done = checkRun(await client.beta.threads.runs.submitToolOutputsAndPoll(run.id, { thread_id, tool_outputs }));

    expect(provider.requests.map(({ max_completion_tokens: most }) => most)).toEqual([1_000, 700]);
    expect(done).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_completion_tokens' },
      usage: { prompt_tokens: 210, completion_tokens: 1_000 },
    });
    const [message] = (await client.beta.threads.messages.list(thread_id)).data;
    expect(message).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_tokens' } });
    expect((await stepsOf(client, thread_id, run.id)).at(-1)).toBe('message_creation completed');
  });
});

describe('what a model answers', () => {
  test('that is refused fails the run with the code that fits', async () => {
    const codes: [ScriptedAnswer, string][] = [
      [{ status: 429 }, 'rate_limit_exceeded'],
      [{ status: 500 }, 'server_error'],
      [{ status: 400, error: { message: 'Too long.', code: 'context_length_exceeded' } }, 'invalid_prompt'],
      [{ status: 400, error: { message: 'No such model.' } }, 'server_error'],
      [{ parts: [{ text: 'a b c' }], failAfter: 2 }, 'server_error'],
      [{ parts: [], finish: 'content_filter' }, 'invalid_prompt'],
    ];
    for (const [answer, code] of codes) {
      const { run, thread_id, client } = await played(answer);
      expect([run.status, run.last_error?.code]).toEqual(['failed', code as never]);
      for (const line of (await historyOf(client, thread_id)).slice(1))
        expect(line).toStartWith('assistant incomplete: a');
    }
    const { run } = await played({ status: 429, error: { message: 'Slow down, please.' } });
    expect(run.last_error!.message).toBe('Slow down, please.');
  });

  test('may be a refusal, filtered, empty, or no stream at all', async () => {
    const refused = await played({ parts: [{ refusal: 'I will not.' }] });
    const [message] = (await refused.client.beta.threads.messages.list(refused.thread_id)).data;
    expect(message!.content).toEqual([{ type: 'refusal', refusal: 'I will not.' }]);

    const filtered = await played({ parts: [{ text: 'Half a' }], finish: 'content_filter' });
    expect(filtered.run.status).toBe('completed');
    const [half] = (await filtered.client.beta.threads.messages.list(filtered.thread_id)).data;
    expect(half).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'content_filter' } });

    const empty = await played({ parts: [] });
    expect(await historyOf(empty.client, empty.thread_id)).toEqual(['user completed: Hello', 'assistant completed: ']);

    const whole = await played({ parts: [{ text: 'All at once.' }], isWhole: true, usage: null });
    expect((await historyOf(whole.client, whole.thread_id)).at(-1)).toBe('assistant completed: All at once.');
    expect(whole.run.usage!.completion_tokens).toBeGreaterThan(0);
  });

  test('counts for one call when it was asked for one at a time', async () => {
    const calls = [1, 2].map((number) => ({ call: 'get_time', arguments: `{"n":${number}}` }));
    const { run } = await played({ parts: calls }, { assistant: { tools: [time] }, parallel_tool_calls: false });

    expect(run.required_action!.submit_tool_outputs.tool_calls.map((call) => call.function.arguments)).toEqual([
      '{"n":1}',
    ]);
  });

  test('never leaves two calls with the same id', async () => {
    const calls = [1, 2].map((number) => ({ call: 'get_time', arguments: `{"n":${number}}`, id: 'same' }));
    const { run } = await played({ parts: calls }, { assistant: { tools: [time] } });

    const ids = run.required_action!.submit_tool_outputs.tool_calls.map(({ id }) => id);
    expect(new Set(ids).size).toBe(2);
  });
});

test('a run whose key was deleted meanwhile fails', async () => {
  const { key, id } = await gateway.given.apiKey({ defaults: { virtual_key: 'sim' } });
  const { openaiClient } = await import('../sdk-clients.ts');
  const client = openaiClient(gateway.url, key);
  const said = 'call get_time';
  const { thread_id, assistant_id } = await conversation(client, { assistant: { tools: [time] }, said });
  const run = await client.beta.threads.runs.createAndPoll(thread_id, { assistant_id });
  const [call] = run.required_action!.submit_tool_outputs.tool_calls;
  await gateway.api.delete(`/v1/api-keys/${id}`);

  const tool_outputs = [{ tool_call_id: call!.id, output: 'noon' }];
  const done = checkRun(await openai.beta.threads.runs.submitToolOutputsAndPoll(run.id, { thread_id, tool_outputs }));

  expect([done.status, done.last_error]).toEqual([
    'failed',
    { code: 'server_error', message: 'The API key, user or machine that began this run was removed or has expired.' },
  ]);
});

test('a run expires after its time, whatever it was at, and its thread is free again', async () => {
  const short = await startGateway({ environment: { GATEWAY_RUN_SECONDS: '1' } });
  try {
    const { openai: client } = await clientFor(short);
    const stalled = await conversation(client, { said: 'Talk. [[simulate: stall=after:4]]' });
    const waiting = await conversation(client, { assistant: { tools: [time] }, said: 'call get_time' });
    const [one, other] = await Promise.all(
      [stalled, waiting].map(async ({ thread_id, assistant_id }) =>
        client.beta.threads.runs.create(thread_id, { assistant_id }),
      ),
    );
    const statusOf = async (run: { id: string; thread_id: string }) =>
      checkRun(await client.beta.threads.runs.retrieve(run.id, { thread_id: run.thread_id })).status;
    await eventually('it waits for outputs', async () => (await statusOf(other!)) === 'requires_action');
    const { required_action } = await client.beta.threads.runs.retrieve(other!.id, { thread_id: other!.thread_id });
    await eventually(
      'both have expired',
      async () => (await statusOf(one!)) === 'expired' && (await statusOf(other!)) === 'expired',
    );

    const [message] = (await client.beta.threads.messages.list(stalled.thread_id)).data;
    expect(message).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'run_expired' } });
    expect(await stepsOf(client, stalled.thread_id, one!.id)).toEqual(['message_creation expired']);
    expect(await stepsOf(client, waiting.thread_id, other!.id)).toEqual(['tool_calls expired get_time({}) = null']);
    const [call] = required_action!.submit_tool_outputs.tool_calls;
    const late = await client.beta.threads.runs
      .submitToolOutputs(other!.id, {
        thread_id: waiting.thread_id,
        tool_outputs: [{ tool_call_id: call!.id, output: 'x' }],
      })
      .catch((error: Error) => error.message);
    expect(late).toBe('400 Runs in status "expired" do not accept tool outputs.');
    const again = await client.beta.threads.messages.create(waiting.thread_id, { role: 'user', content: 'Hello?' });
    expect(again.status).toBe('completed');
  } finally {
    await short.stop();
  }
});
