import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type OpenAI from 'openai';
import {
  checkRun,
  checkStep,
  clientFor,
  conversation,
  historyOf,
  scripted,
  stepsOf,
  time,
  weather,
} from '../assistants/client.ts';
import { checkGrammar, eventsIn } from '../assistants/grammar.ts';
import * as schemas from '../assistants/schemas.ts';
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

const ANSWER = 'This is a simulated answer. You said: "Hello"';
const runsOf = () => openai.beta.threads.runs;

/** A request as the client would send it, and the answer as it comes. */
const raw = (path: string, body?: unknown, headers: Record<string, string> = {}) =>
  fetch(`${gateway.url}/v1${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  });

async function waitFor(threadId: string, runId: string, status: string) {
  await eventually(
    `the run is ${status}`,
    async () => (await runsOf().retrieve(runId, { thread_id: threadId })).status === status,
  );
}

describe("the vendor's client, with a new base address and key and nothing else", () => {
  test('creates a run and polls it to its end', async () => {
    const { thread_id, assistant_id } = await conversation(openai, { assistant: { instructions: 'Be brief.' } });

    const run = checkRun(await runsOf().createAndPoll(thread_id, { assistant_id, metadata: { for: 'test' } }));

    expect(run).toMatchObject({
      status: 'completed',
      instructions: 'Be brief.',
      model: 'gpt-5',
      temperature: 1,
      top_p: 1,
    });
    expect(run.metadata).toEqual({ for: 'test' });
    expect(run.usage!.total_tokens).toBe(run.usage!.prompt_tokens + run.usage!.completion_tokens);
    expect(run.usage!.completion_tokens).toBeGreaterThan(0);
    expect(await historyOf(openai, thread_id)).toEqual(['user completed: Hello', `assistant completed: ${ANSWER}`]);
    expect(await stepsOf(openai, thread_id, run.id)).toEqual(['message_creation completed']);
  });

  test('streams a run with its helpers', async () => {
    const { thread_id, assistant_id } = await conversation(openai);
    const heard: string[] = [];
    let text = '';

    const stream = runsOf()
      .stream(thread_id, { assistant_id })
      .on('textDelta', ({ value }) => {
        text += value ?? '';
      })
      .on('textDone', ({ value }) => heard.push(`done ${value}`))
      .on('messageDone', ({ status }) => heard.push(`message ${status}`))
      .on('runStepDone', ({ status }) => heard.push(`step ${status}`));
    const run = await stream.finalRun();

    expect(run.status).toBe('completed');
    expect(text).toBe(ANSWER);
    expect(heard).toEqual([`done ${ANSWER}`, 'message completed', 'step completed']);
    expect((await stream.finalMessages()).map(({ content }) => content)).toHaveLength(1);
  });

  test('goes through a loop of functions, by polling', async () => {
    const said = 'call get_weather {"city":"Oslo"} and get_time';
    const { thread_id, assistant_id } = await conversation(openai, { assistant: { tools: [weather, time] }, said });

    const asked = checkRun(await runsOf().createAndPoll(thread_id, { assistant_id }));
    const { tool_calls } = asked.required_action!.submit_tool_outputs;
    expect(asked.status).toBe('requires_action');
    expect(tool_calls.map((call) => [call.function.name, call.function.arguments])).toEqual([
      ['get_weather', '{"city":"Oslo"}'],
      ['get_time', '{}'],
    ]);
    expect(await stepsOf(openai, thread_id, asked.id)).toEqual([
      'tool_calls in_progress get_weather({"city":"Oslo"}) = null get_time({}) = null',
    ]);

    const tool_outputs = tool_calls.map(({ id }, index) => ({ tool_call_id: id, output: `output ${index}` }));
    const run = checkRun(await runsOf().submitToolOutputsAndPoll(asked.id, { thread_id, tool_outputs }));

    expect(run.status).toBe('completed');
    expect(run.created_at).toBe(asked.created_at);
    expect(await stepsOf(openai, thread_id, run.id)).toEqual([
      'tool_calls completed get_weather({"city":"Oslo"}) = output 0 get_time({}) = output 1',
      'message_creation completed',
    ]);
    expect(await historyOf(openai, thread_id)).toEqual([
      `user completed: ${said}`,
      'assistant completed: This is a simulated answer. The tool said: "output 1"',
    ]);
  });

  test('goes through a loop of functions, by streams', async () => {
    const said = 'call get_weather {"city":"Oslo"}';
    const { thread_id, assistant_id } = await conversation(openai, { assistant: { tools: [weather] }, said });
    const deltas: string[] = [];

    const asked = await runsOf()
      .stream(thread_id, { assistant_id })
      .on('toolCallDelta', (delta) =>
        deltas.push((delta as { function?: { arguments?: string } }).function?.arguments ?? ''),
      )
      .finalRun();
    expect(asked.status).toBe('requires_action');
    expect(deltas.join('')).toBe('{"city":"Oslo"}');

    const [call] = asked.required_action!.submit_tool_outputs.tool_calls;
    const tool_outputs = [{ tool_call_id: call!.id, output: 'sunny' }];
    const run = await runsOf().submitToolOutputsStream(asked.id, { thread_id, tool_outputs }).finalRun();

    expect(run.status).toBe('completed');
    expect((await historyOf(openai, thread_id)).at(-1)).toContain('The tool said: "sunny"');
  });

  test('begins a thread and runs it in one request, polled and streamed', async () => {
    const { assistant_id } = await conversation(openai);
    const thread = { messages: [{ role: 'user' as const, content: 'Hello' }], metadata: { of: 'mine' } };

    const run = checkRun(await openai.beta.threads.createAndRunPoll({ assistant_id, thread }));
    expect(run.status).toBe('completed');
    expect(await historyOf(openai, run.thread_id)).toEqual(['user completed: Hello', `assistant completed: ${ANSWER}`]);

    const names: string[] = [];
    const stream = openai.beta.threads.createAndRunStream({ assistant_id, thread });
    stream.on('event', ({ event }) => names.push(event));
    expect((await stream.finalRun()).status).toBe('completed');
    expect(names.slice(0, 3)).toEqual(['thread.created', 'thread.run.created', 'thread.run.queued']);
  });

  test('cancels a run that is being streamed and keeps what was said', async () => {
    const said = 'Talk. [[simulate: chunk-delay=30, length=500]]';
    const { thread_id, assistant_id } = await conversation(openai, { said });
    const stream = runsOf().stream(thread_id, { assistant_id });
    const begun = Promise.withResolvers<string>();
    stream.on('textDelta', () => begun.resolve(stream.currentRun()!.id));
    const runId = await begun.promise;

    const cancelled = checkRun(await runsOf().cancel(runId, { thread_id }));
    const run = checkRun(await stream.finalRun());

    expect([cancelled.status, run.status]).toEqual(['cancelling', 'cancelled']);
    expect(run.usage!.completion_tokens).toBeGreaterThan(0);
    expect(await stepsOf(openai, thread_id, runId)).toEqual(['message_creation cancelled']);
    const [message] = (await openai.beta.threads.messages.list(thread_id)).data;
    expect(message).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'run_cancelled' } });
    expect((await historyOf(openai, thread_id)).at(-1)).toStartWith('assistant incomplete: This');
    await eventually('the provider is left alone', () => gateway.provider.simulator.open === 0);
  });

  test('cancels a run that waits for tool outputs', async () => {
    const said = 'call get_time';
    const { thread_id, assistant_id } = await conversation(openai, { assistant: { tools: [time] }, said });
    const { id } = await runsOf().createAndPoll(thread_id, { assistant_id });

    expect(checkRun(await runsOf().cancel(id, { thread_id }))).toMatchObject({
      status: 'cancelling',
      required_action: null,
    });

    expect(checkRun(await runsOf().retrieve(id, { thread_id }))).toMatchObject({ status: 'cancelled' });
    expect(await stepsOf(openai, thread_id, id)).toEqual(['tool_calls cancelled get_time({}) = null']);
    const again = await runsOf()
      .cancel(id, { thread_id })
      .catch((error: Error) => error.message);
    expect(again).toBe("400 Cannot cancel run with status 'cancelled'.");
  });

  test('pages through runs and steps in both directions', async () => {
    const { thread_id, assistant_id } = await conversation(openai);
    const ids: string[] = [];
    for (let number = 0; number < 5; number++) ids.push((await runsOf().createAndPoll(thread_id, { assistant_id })).id);

    const forward: string[] = [];
    for await (const run of runsOf().list(thread_id, { limit: 2, order: 'asc' })) forward.push(checkRun(run).id);
    const backward: string[] = [];
    for await (const run of runsOf().list(thread_id, { limit: 2 })) backward.push(run.id);
    const before = await runsOf().list(thread_id, { before: ids[3], order: 'asc', limit: 2 });

    expect(forward).toEqual(ids);
    expect(backward).toEqual(ids.toReversed());
    expect(before.data.map(({ id }) => id)).toEqual([ids[1]!, ids[2]!]);
    expect(before.has_more).toBe(true);
    const [step] = (await runsOf().steps.list(ids[0]!, { thread_id })).data;
    expect(checkStep(await runsOf().steps.retrieve(step!.id, { thread_id, run_id: ids[0]! }))).toEqual(
      checkStep(step!),
    );
    schemas.list(schemas.run).parse(await (await raw(`/threads/${thread_id}/runs`)).json());
    schemas.list(schemas.step).parse(await (await raw(`/threads/${thread_id}/runs/${ids[0]}/steps`)).json());
  });

  test('changes the metadata of a run, running or not, and nothing else', async () => {
    const { thread_id, assistant_id } = await conversation(openai, { said: 'Talk. [[simulate: delay=400]]' });
    const { id } = await runsOf().create(thread_id, { assistant_id, metadata: { a: '1' } });

    const changed = checkRun(await runsOf().update(id, { thread_id, metadata: { b: '2' } }));
    expect(changed.metadata).toEqual({ b: '2' });
    const run = checkRun(await runsOf().poll(id, { thread_id }));

    expect([run.status, run.metadata]).toEqual(['completed', { b: '2' }]);
    expect((await raw(`/threads/${thread_id}/runs/${id}`, { status: 'queued' })).status).toBe(400);
  });
});

describe('a stream', () => {
  test('has exactly the events of the grammar, for create, submit, and create with thread', async () => {
    const { thread_id, assistant_id } = await conversation(openai, { assistant: { tools: [weather] } });
    const plain = await raw(`/threads/${thread_id}/runs`, { assistant_id, stream: true });
    expect(plain.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(plain.headers.get('cache-control')).toBe('no-cache');
    checkGrammar(eventsIn(await plain.text()), 'create');

    const content = 'call get_weather {"city":"Oslo"}';
    const thread = { messages: [{ role: 'user', content }] };
    const events = eventsIn(await (await raw('/threads/runs', { assistant_id, thread, stream: true })).text());
    checkGrammar(events, 'create-thread');
    const { data: run } = events.at(-1)!;
    const [call] = run.required_action.submit_tool_outputs.tool_calls;

    const path = `/threads/${run.thread_id}/runs/${run.id}`;
    const body = { tool_outputs: [{ tool_call_id: call.id, output: 'sunny' }], stream: true };
    const submitted = eventsIn(await (await raw(`${path}/submit_tool_outputs`, body)).text());
    checkGrammar(submitted, 'submit');
    expect(submitted[0]!.data.step_details.tool_calls[0].function.output).toBe('sunny');

    const replayed = eventsIn(await (await raw(`${path}/events`)).text());
    expect(replayed.map(({ event }) => event)).toEqual([...events, ...submitted].map(({ event }) => event));
  });

  test('that a client leaves does not stop the run', async () => {
    const said = 'Talk. [[simulate: chunk-delay=10, length=60]]';
    const { thread_id, assistant_id } = await conversation(openai, { said });
    const leaving = new AbortController();
    const response = await fetch(`${gateway.url}/v1/threads/${thread_id}/runs`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ assistant_id, stream: true }),
      signal: leaving.signal,
    });
    await response.body!.getReader().read();
    leaving.abort();

    const [run] = (await runsOf().list(thread_id)).data;
    expect(checkRun(await runsOf().poll(run!.id, { thread_id })).status).toBe('completed');
  });

  test('is taken up behind the last event that was seen, without a gap and without repetition', async () => {
    const said = 'Talk. [[simulate: chunk-delay=15, length=40]]';
    const { thread_id, assistant_id } = await conversation(openai, { said });
    const run = await runsOf().create(thread_id, { assistant_id });
    const path = `/threads/${thread_id}/runs/${run.id}/events`;
    const all = eventsIn(await (await raw(path)).text());
    checkGrammar(all, 'create');

    for (const { id } of [all[0]!, all[4]!, all[12]!, all.at(-2)!]) {
      const rest = eventsIn(await (await raw(path, undefined, { 'last-event-id': id! })).text());
      expect(rest.map((event) => event.id)).toEqual(
        all.slice(all.findIndex((event) => event.id === id) + 1).map((event) => event.id),
      );
    }
    // Nothing comes after the end, so it is told again.
    const last = eventsIn(await (await raw(path, undefined, { 'last-event-id': all.at(-1)!.id! })).text());
    expect(last.map(({ event }) => event)).toEqual(['thread.run.completed']);
    const refused = await raw(path, undefined, { 'last-event-id': 'nonsense' });
    expect([refused.status, ((await refused.json()) as { error: { param: string } }).error.param]).toEqual([
      400,
      'last-event-id',
    ]);
  });

  test('of a run that fails ends with its failure, and so does the message', async () => {
    const {
      openai: other,
      key: otherKey,
      provider,
    } = await scripted(gateway, () => ({
      parts: [{ text: 'one two three four five six' }],
      cutAfter: 4,
    }));
    const { thread_id, assistant_id } = await conversation(other);
    const response = await raw(
      `/threads/${thread_id}/runs`,
      { assistant_id, stream: true },
      { authorization: `Bearer ${otherKey}` },
    );
    const events = eventsIn(await response.text());
    provider.stop();

    checkGrammar(events, 'create');
    expect(events.slice(-3).map(({ event }) => event)).toEqual([
      'thread.message.incomplete',
      'thread.run.step.failed',
      'thread.run.failed',
    ]);
    expect(events.at(-1)!.data.last_error.code).toBe('server_error');
    expect(await historyOf(other, thread_id)).toEqual(['user completed: Hello', 'assistant incomplete: one two three']);
    expect(await stepsOf(other, thread_id, events.at(-1)!.data.id)).toEqual(['message_creation failed']);
  });
});

test('a run tells its pollers how soon to ask again, until it has ended', async () => {
  const { thread_id, assistant_id } = await conversation(openai, { said: 'Wait. [[simulate: delay=300]]' });
  const created = await raw(`/threads/${thread_id}/runs`, { assistant_id });
  const { id } = (await created.json()) as { id: string };
  const waiting = await raw(`/threads/${thread_id}/runs/${id}`);
  expect([created, waiting].map(({ headers }) => headers.get('openai-poll-after-ms'))).toEqual(['200', '200']);

  await waitFor(thread_id, id, 'completed');
  expect((await raw(`/threads/${thread_id}/runs/${id}`)).headers.get('openai-poll-after-ms')).toBeNull();
});

test('the model calls of a run are in the log, under its trace, with the key and the virtual key that began it', async () => {
  const { thread_id, assistant_id } = await conversation(openai);
  const run = await runsOf().createAndPoll(thread_id, { assistant_id });

  let calls: { virtual_key: string; path: string }[] = [];
  await eventually('the call is in the log', async () => {
    calls = (await gateway.api.get(`/v1/logs?trace_id=${run.id}`)).json.data;
    return calls.length > 0;
  });
  expect(calls).toHaveLength(1);
  expect(calls[0]).toMatchObject({ virtual_key: 'sim', path: '/v1/chat/completions' });
});
