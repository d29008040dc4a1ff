import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { clientFor, conversation, time } from '../assistants/client.ts';
import { serve, startGateway, type TestGateway } from '../gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({ environment: { GATEWAY_INTERPRETER: 'false' } });
});
afterAll(() => gateway.stop());

const stream = (...chunks: object[]) =>
  new Response(`${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`, {
    headers: { 'content-type': 'text/event-stream' },
  });
const chunk = (delta: object, finish_reason: unknown = null) => ({ choices: [{ index: 0, delta, finish_reason }] });
const calling = (call: object) => stream(chunk({ tool_calls: [call] }), chunk({}, 'tool_calls'));

/** A run on a provider that answers like this. */
async function answeredWith(answer: () => Response) {
  const provider = serve(answer);
  const { slug } = await gateway.given.virtualKey({ name: 'odd', custom_host: `${provider.origin}/v1` });
  const { openai } = await clientFor(gateway, slug);
  const { thread_id, assistant_id } = await conversation(openai, { assistant: { model: 'm', tools: [time] } });
  const run = await openai.beta.threads.runs.createAndPoll(thread_id, { assistant_id });
  const messages = (await openai.beta.threads.messages.list(thread_id, { run_id: run.id })).data;
  provider.stop();
  return { run, messages };
}

describe('a model that', () => {
  const NO_MESSAGE = 'The answer of the model holds no message.';
  const NAMELESS = 'The model called a tool without naming it.';
  test.each<[string, () => Response, string]>([
    ['answers an empty object', () => Response.json({}), NO_MESSAGE],
    ['answers without a choice', () => Response.json({ choices: [] }), NO_MESSAGE],
    ['answers a list', () => Response.json([1]), NO_MESSAGE],
    ['answers nothing', () => new Response(null, { status: 204 }), 'The answer of the model is not JSON.'],
    ['calls a tool without a name', () => calling({ index: 0, id: 'c', function: { arguments: '{}' } }), NAMELESS],
    ['names a tool by an object', () => calling({ id: 'c', function: { name: {}, arguments: '{}' } }), NAMELESS],
    [
      'says that it calls tools and calls none',
      () => stream(chunk({}, 'tool_calls')),
      'The model said that it calls tools, and called none.',
    ],
  ])('%s fails the run, and leaves nothing in the thread', async (_, answer, message) => {
    const { run, messages } = await answeredWith(answer);
    expect([run.status, run.last_error]).toEqual(['failed', { code: 'server_error', message }]);
    expect(messages).toEqual([]);
  });

  test('says text and then calls a tool without a name fails the run, and the text is kept as far as it came', async () => {
    const { run, messages } = await answeredWith(() =>
      stream(
        chunk({ content: 'Let me see.' }),
        chunk({ tool_calls: [{ index: 0, function: { arguments: '{' } }] }),
        chunk({}, 'stop'),
      ),
    );
    expect([run.status, run.last_error?.message]).toEqual(['failed', NAMELESS]);
    expect(messages).toMatchObject([
      {
        status: 'incomplete',
        incomplete_details: { reason: 'run_failed' },
        content: [{ text: { value: 'Let me see.' } }],
      },
    ]);
  });

  test('counts tokens in a way that cannot be is not believed', async () => {
    const usage = { prompt_tokens: '12', completion_tokens: -3.5 };
    const { run } = await answeredWith(() =>
      stream(chunk({ content: 'Yes.' }), chunk({}, 'stop'), { choices: [], usage }),
    );
    expect(run.status).toBe('completed');
    const { prompt_tokens, completion_tokens, total_tokens } = run.usage!;
    expect([prompt_tokens, completion_tokens].every((count) => Number.isInteger(count) && count > 0)).toBe(true);
    expect(total_tokens).toBe(prompt_tokens + completion_tokens);
  });

  test('writes a million characters of arguments six at a time is heard to the end', async () => {
    const pieces = Array.from({ length: 170_000 }, () =>
      chunk({ tool_calls: [{ index: 0, function: { arguments: 'xxxxxx' } }] }),
    );
    const name = { index: 0, id: 'call_long', function: { name: 'get_time', arguments: '' } };
    const { run } = await answeredWith(() => stream(chunk({ tool_calls: [name] }), ...pieces, chunk({}, 'tool_calls')));
    expect(run.status).toBe('requires_action');
    expect(run.required_action!.submit_tool_outputs.tool_calls[0]!.function.arguments).toHaveLength(6 * 170_000);
  });
});
