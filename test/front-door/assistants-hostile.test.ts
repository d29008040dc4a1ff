import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type OpenAI from 'openai';
import { clientFor, conversation, scripted } from '../assistants/client.ts';
import { startGateway, type TestGateway } from '../gateway.ts';

let gateway: TestGateway;
let openai: OpenAI;
beforeAll(async () => {
  gateway = await startGateway();
  ({ openai } = await clientFor(gateway));
});
afterAll(() => gateway.stop());

const headers = { 'x-gateway-virtual-key': 'sim' };
const post = (path: string, body: unknown) => gateway.api.post(`/v1${path}`, body, { headers });
const faultOf = async (path: string, body: unknown) => {
  const { status, json } = await post(path, body);
  return [status, json.error?.param, json.error?.code, json.error?.message];
};
const nested = (levels: number) => JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`);
const fileSearch = { type: 'file_search' as const };
const named = (name: string) => ({ type: 'function' as const, function: { name } });

describe('400 names the member and says what would be right', () => {
  test.each<[string, object, unknown[]]>([
    [
      'a schema that is nested without end',
      { tools: [{ type: 'function', function: { name: 'f', parameters: nested(5_000) } }] },
      ['tools', 'invalid_value', "Invalid 'tools': it is nested deeper than 64 levels."],
    ],
    [
      'a format without its schema',
      { response_format: { type: 'json_schema' } },
      [
        'response_format.json_schema',
        'missing_required_parameter',
        "Missing required parameter: 'response_format.json_schema'.",
      ],
    ],
    [
      'a format that does not exist',
      { response_format: { type: 'xml' } },
      [
        'response_format.type',
        'invalid_value',
        "Invalid value: 'xml'. Supported values are: 'text', 'json_object', 'json_schema'.",
      ],
    ],
    [
      'a function with the name of a tool beside it',
      { tools: [fileSearch, named('file_search')] },
      [
        'tools[1].function.name',
        'invalid_value',
        "Invalid 'tools[1].function.name': the tool 'file_search' has that name already.",
      ],
    ],
  ])('assistants: %s', async (_, body, fault) => {
    expect(await faultOf('/assistants', { model: 'm', ...body })).toEqual([400, ...fault]);
  });

  test('runs: a choice of a function without its name', async () => {
    const { thread_id, assistant_id } = await conversation(openai);
    expect(await faultOf(`/threads/${thread_id}/runs`, { assistant_id, tool_choice: { type: 'function' } })).toEqual([
      400,
      'tool_choice.function',
      'missing_required_parameter',
      "Missing required parameter: 'tool_choice.function'.",
    ]);
  });

  test('messages: the address of an image that is none', async () => {
    const content = [{ type: 'image_url', image_url: { url: 'dot.png' } }];
    const where = 'messages[0].content[0].image_url.url';
    expect(await faultOf('/threads', { messages: [{ role: 'user', content }] })).toEqual([
      400,
      where,
      'invalid_value',
      `Invalid '${where}': give an address, such as 'https://…', or a data URL.`,
    ]);
  });
});

describe('however much is sent', () => {
  test('thousands of messages are one thread, in their order', async () => {
    const messages = Array.from({ length: 5_000 }, (_, number) => ({ role: 'user', content: `${number}` }));
    const thread = (await post('/threads', { messages })).json.id;

    const texts: string[] = [];
    for await (const { content } of openai.beta.threads.messages.list(thread, { order: 'asc', limit: 100 }))
      if (content[0]?.type === 'text') texts.push(content[0].text.value);
    expect(texts).toEqual(messages.map(({ content }) => content));
  });

  test('images that are too many for one request fail the run, not the gateway', async () => {
    const png = Buffer.concat([Buffer.from('\x89PNG', 'latin1'), Buffer.alloc(19 << 20)]);
    const file = await openai.files.create({ file: new File([png], 'large.png'), purpose: 'vision' });
    const { assistant_id, thread_id } = await conversation(openai);
    const content = Array(500).fill({ type: 'image_file', image_file: { file_id: file.id } });
    await openai.beta.threads.messages.create(thread_id, { role: 'user', content });

    const run = await openai.beta.threads.runs.createAndPoll(thread_id, { assistant_id, model: 'unheard-of' });
    expect([run.status, run.last_error]).toEqual([
      'failed',
      { code: 'invalid_prompt', message: 'The images of the thread have more than 67108864 bytes.' },
    ]);
  });
});

test('a built-in tool that is named twice is offered once', async () => {
  const { openai: client, provider } = await scripted(gateway, () => ({ parts: [{ text: 'Yes.' }] }));
  const { thread_id, assistant_id } = await conversation(client, { assistant: { tools: [fileSearch, fileSearch] } });
  await client.beta.threads.runs.createAndPoll(thread_id, { assistant_id });
  expect(provider.requests[0]!.tools.map((tool: { function: { name: string } }) => tool.function.name)).toEqual([
    'file_search',
  ]);
  provider.stop();
});

test('null takes away the resources of an assistant and of a thread; a tool that is not named keeps its own', async () => {
  const { id: vector_store_id } = await openai.vectorStores.create({});
  const file = await openai.files.create({ file: new File(['a,b'], 'a.csv'), purpose: 'assistants' });
  const tool_resources = {
    code_interpreter: { file_ids: [file.id] },
    file_search: { vector_store_ids: [vector_store_id] },
  };
  const assistant = await openai.beta.assistants.create({ model: 'm', tool_resources });
  const thread = await openai.beta.threads.create({ tool_resources });

  for (const path of [`/assistants/${assistant.id}`, `/threads/${thread.id}`]) {
    const kept = { ...tool_resources, code_interpreter: { file_ids: [] } };
    const one = await post(path, { tool_resources: { code_interpreter: { file_ids: [] } } });
    expect(one.json.tool_resources).toEqual(kept);
    expect((await post(path, { metadata: {} })).json.tool_resources).toEqual(kept);
    expect((await post(path, { tool_resources: null })).json.tool_resources).toEqual({});
  }
});
