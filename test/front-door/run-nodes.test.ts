import { afterAll, beforeAll, expect, test } from 'bun:test';
import type OpenAI from 'openai';
import { checkRun, conversation, historyOf, stepsOf, time } from '../assistants/client.ts';
import { checkGrammar, eventsIn } from '../assistants/grammar.ts';
import { startProvider, type TestProvider } from '../gateway.ts';
import { startNode } from '../nodes.ts';
import { createDatabase } from '../postgres.ts';
import { eventually, type GatewayProcess } from '../process.ts';
import { openaiClient } from '../sdk-clients.ts';

let a: GatewayProcess;
let b: GatewayProcess;
let provider: TestProvider;
let key: string;
let onA: OpenAI;
let onB: OpenAI;

beforeAll(async () => {
  provider = startProvider();
  const databaseUrl = await createDatabase();
  a = await startNode(databaseUrl);
  b = await startNode(databaseUrl);
  await a.given.virtualKey(provider.url);
  key = (await a.api.post('/v1/api-keys', { name: 'sdk', defaults: { virtual_key: 'sim' } })).json.key;
  onA = openaiClient(a.url, key);
  onB = openaiClient(b.url, key);
});
afterAll(async () => {
  await Promise.all([a, b].map((node) => node?.kill()));
  provider.stop();
});

const stream = (node: GatewayProcess, path: string, body?: unknown) =>
  fetch(`${node.url}/v1${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  });

test('a run that one node carries out is watched on another, as it happens, event for event', async () => {
  const said = 'Talk. [[simulate: chunk-delay=40, length=60]]';
  const { thread_id, assistant_id } = await conversation(onA, { said });
  const own = (await stream(a, `/threads/${thread_id}/runs`, { assistant_id, stream: true })).text();
  let runId = '';
  await eventually('the run is there', async () => {
    runId = (await onB.beta.threads.runs.list(thread_id)).data[0]?.id ?? '';
    return runId !== '';
  });

  const response = await stream(b, `/threads/${thread_id}/runs/${runId}/events`);
  const pieces: { at: number; text: string }[] = [];
  for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>)
    pieces.push({ at: performance.now(), text: Buffer.from(piece).toString() });
  const there = eventsIn(pieces.map(({ text }) => text).join(''));
  const here = eventsIn(await own);

  checkGrammar(there, 'create');
  expect(there.map(({ id, event }) => `${id} ${event}`)).toEqual(here.map(({ id, event }) => `${id} ${event}`));
  expect(there.map(({ data }) => data)).toEqual(here.map(({ data }) => data));
  // The answer takes more than two seconds: it came while it was made, not at its end.
  const deltas = pieces.filter(({ text }) => text.includes('thread.message.delta'));
  expect(deltas.at(-1)!.at - deltas[0]!.at).toBeGreaterThan(1_000);
});

test('a run that one node carries out is cancelled through another', async () => {
  const said = 'Talk. [[simulate: chunk-delay=40, length=600]]';
  const { thread_id, assistant_id } = await conversation(onA, { said });
  const own = (await stream(a, `/threads/${thread_id}/runs`, { assistant_id, stream: true })).text();
  let runId = '';
  await eventually('something was said', async () => {
    runId = (await onB.beta.threads.runs.list(thread_id)).data[0]?.id ?? '';
    return (await onB.beta.threads.messages.list(thread_id)).data.length === 2;
  });

  expect(checkRun(await onB.beta.threads.runs.cancel(runId, { thread_id })).status).toBe('cancelling');
  const events = eventsIn(await own);

  checkGrammar(events, 'create');
  expect(events.slice(-4).map(({ event }) => event)).toEqual([
    'thread.message.incomplete',
    'thread.run.step.cancelled',
    'thread.run.cancelling',
    'thread.run.cancelled',
  ]);
  expect(await stepsOf(onB, thread_id, runId)).toEqual(['message_creation cancelled']);
});

test('what one node asked for is answered through another', async () => {
  const { thread_id, assistant_id } = await conversation(onA, { assistant: { tools: [time] }, said: 'call get_time' });
  const asked = await onA.beta.threads.runs.createAndPoll(thread_id, { assistant_id });
  const [call] = asked.required_action!.submit_tool_outputs.tool_calls;
  const tool_outputs = [{ tool_call_id: call!.id, output: 'noon' }];

  const run = await onB.beta.threads.runs.submitToolOutputsStream(asked.id, { thread_id, tool_outputs }).finalRun();

  expect(run.status).toBe('completed');
  expect((await historyOf(onA, thread_id)).at(-1)).toContain('The tool said: "noon"');
});

test('of 100 runs that are created at once through two nodes exactly one is let in', async () => {
  const { thread_id, assistant_id } = await conversation(onA, { said: 'Wait. [[simulate: delay=30000]]' });

  const replies = await Promise.all(
    Array.from({ length: 100 }, async (_, number) => {
      const response = await stream(number % 2 === 0 ? a : b, `/threads/${thread_id}/runs`, { assistant_id });
      return { status: response.status, json: (await response.json()) as { id: string; error: { message: string } } };
    }),
  );

  const [won, ...others] = replies.filter(({ status }) => status === 200);
  expect(others).toEqual([]);
  const refused = replies.filter(({ status }) => status === 400).map(({ json }) => json.error.message);
  expect(refused).toHaveLength(99);
  expect([...new Set(refused)]).toEqual([`Thread ${thread_id} already has an active run ${won!.json.id}.`]);
  await onB.beta.threads.runs.cancel(won!.json.id, { thread_id });
});
