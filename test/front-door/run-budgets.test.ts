import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { checkedFetch } from '../assistants/checked-fetch.ts';
import { checkRun, clientFor, conversation, historyOf, scripted, stepsOf, time } from '../assistants/client.ts';
import { CLIENT_MAJORS } from '../assistants/client-majors.ts';
import type { ScriptedAnswer } from '../assistants/scripted-provider.ts';
import { startGateway, type TestGateway } from '../gateway.ts';

const ENGINES = ['sqlite', 'postgres'] as const;
const took = (prompt_tokens: number, completion_tokens: number) => ({ usage: { prompt_tokens, completion_tokens } });
const call: ScriptedAnswer['parts'] = [{ call: 'get_time', arguments: '{"zone":"UTC"}', id: 'call_1' }];

describe.each(ENGINES)('what a provider reports against the budgets of a run (%s)', (engine) => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway({ engine, environment: { GATEWAY_INTERPRETER: 'false' } });
  });
  afterAll(() => gateway.stop());

  async function played(answers: readonly ScriptedAnswer[], params: Record<string, unknown> = {}) {
    const { openai, provider, key } = await scripted(gateway, (_request, number) => answers[number - 1]!);
    const { thread_id, assistant_id } = await conversation(openai, { assistant: { tools: [time] } });
    const run = checkRun(await openai.beta.threads.runs.createAndPoll(thread_id, { assistant_id, ...params }));
    return { openai, provider, key, thread_id, assistant_id, run };
  }
  const endOf = ({ status, incomplete_details }: ReturnType<typeof checkRun>) => [status, incomplete_details?.reason];

  test('more than max_completion_tokens is incomplete, though the model says that it has ended', async () => {
    const { openai, run, thread_id } = await played([{ parts: [{ text: 'All of it.' }], ...took(10, 301) }], {
      max_completion_tokens: 300,
    });
    expect(endOf(run)).toEqual(['incomplete', 'max_completion_tokens']);
    expect(run.usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 301 });
    expect(run.completed_at).toBeNull();
    // What was said is whole, and paid for.
    expect((await historyOf(openai, thread_id)).at(-1)).toBe('assistant completed: All of it.');
    const added = await openai.beta.threads.messages.create(thread_id, { role: 'user', content: 'And?' });
    expect(added.thread_id).toBe(thread_id);
  });

  test('more than max_prompt_tokens is incomplete', async () => {
    const { run } = await played([{ parts: [{ text: 'Ok.' }], ...took(501, 5) }], { max_prompt_tokens: 500 });
    expect(endOf(run)).toEqual(['incomplete', 'max_prompt_tokens']);
  });

  test('as much as a budget is within it', async () => {
    const { run } = await played([{ parts: [{ text: 'Ok.' }], ...took(500, 300) }], {
      max_prompt_tokens: 500,
      max_completion_tokens: 300,
    });
    expect(endOf(run)).toEqual(['completed', undefined]);
  });

  test('what was only estimated here ends no run: estimates are rather too high', async () => {
    const { run } = await played([{ parts: [{ text: 'word '.repeat(400) }], usage: null }], {
      max_completion_tokens: 256,
    });
    expect(run.usage!.completion_tokens).toBeGreaterThan(256);
    expect(endOf(run)).toEqual(['completed', undefined]);
  });

  test('calls over budget are shown, and their client is asked for nothing', async () => {
    for (const parts of [call, [{ text: 'Let me see.' }, ...call!], [...call!, { text: 'So.' }]]) {
      const { openai, run, provider, thread_id } = await played([{ parts, ...took(10, 400) }], {
        max_completion_tokens: 300,
      });
      expect(endOf(run)).toEqual(['incomplete', 'max_completion_tokens']);
      expect(run.required_action).toBeNull();
      expect(await stepsOf(openai, thread_id, run.id)).toContain(
        'tool_calls completed get_time({"zone":"UTC"}) = null',
      );
      for (const line of await historyOf(openai, thread_id)) expect(line).not.toContain('in_progress');
      expect(provider.requests).toHaveLength(1);
      const submitted = openai.beta.threads.runs.submitToolOutputs(run.id, {
        thread_id,
        tool_outputs: [{ tool_call_id: 'call_1', output: 'noon' }],
      });
      expect(await submitted.catch((error: { status: number }) => error.status)).toBe(400);
    }
  });

  test('the calls of a run are added up, and what comes after a step counts', async () => {
    const { openai, run, thread_id, provider } = await played(
      [
        { parts: call, ...took(200, 200) },
        { parts: [{ text: 'Noon.' }], ...took(50, 101) },
      ],
      { max_completion_tokens: 300, max_prompt_tokens: 500 },
    );
    expect(run.status).toBe('requires_action');
    const tool_outputs = [{ tool_call_id: 'call_1', output: 'noon' }];
    const done = checkRun(await openai.beta.threads.runs.submitToolOutputsAndPoll(run.id, { thread_id, tool_outputs }));
    expect(endOf(done)).toEqual(['incomplete', 'max_completion_tokens']);
    expect(provider.requests.map(({ max_completion_tokens: most }) => most)).toEqual([300, 100]);
    expect(await stepsOf(openai, thread_id, run.id)).toEqual([
      'tool_calls completed get_time({"zone":"UTC"}) = noon',
      'message_creation completed',
    ]);
  });

  test("a stream ends with it, in the grammar that every major of the vendor's client takes", async () => {
    for (const parts of [
      [{ text: 'All of it.' }],
      call,
      [{ text: 'First.' }, ...call!],
      [...call!, { text: 'Last.' }],
    ]) {
      const { slug } = await scripted(gateway, () => ({ parts, ...took(10, 400) }));
      for (const [major, clientOf] of Object.entries(CLIENT_MAJORS)) {
        const { fetch, checked } = checkedFetch();
        const { key, openai } = await clientFor(gateway, slug);
        const { thread_id, assistant_id } = await conversation(openai, { assistant: { tools: [time] } });
        const client = clientOf({ url: gateway.url, key, fetch });
        const params = { assistant_id, max_completion_tokens: 300 };
        const stream = client.openai.beta.threads.runs.stream(thread_id, params);
        // The helper of the oldest does not know that `incomplete` is an end.
        const last = await stream.finalRun().catch((error: unknown) => {
          if (major === 'openai 4') return stream.currentRun();
          throw error;
        });
        await checked();
        expect([major, last!.status]).toEqual([major, 'incomplete']);
      }
    }
  });

  test('a truncation that cannot be held is refused, wherever a run is created', async () => {
    const { openai } = await clientFor(gateway);
    const { thread_id, assistant_id } = await conversation(openai);
    const headers = { 'x-gateway-virtual-key': 'sim' };
    const param = 'truncation_strategy.last_messages';
    const message = `Invalid '${param}': only the type 'last_messages' takes it. Leave it out for 'auto'.`;
    for (const path of [`/v1/threads/${thread_id}/runs`, '/v1/threads/runs']) {
      const asked = (strategy: unknown) =>
        gateway.api.post(path, { assistant_id, truncation_strategy: strategy }, { headers });
      const { status, json } = await asked({ type: 'auto', last_messages: 3 });
      expect([path, status, json.error]).toEqual([
        path,
        400,
        { message, type: 'invalid_request_error', param, code: 'invalid_value' },
      ]);
      for (const strategy of [{ type: 'auto', last_messages: null }, { type: 'auto' }, null]) {
        const { status: taken, json: run } = await asked(strategy);
        expect([path, strategy, taken]).toEqual([path, strategy, 200]);
        expect(run.truncation_strategy).toEqual({ type: 'auto', last_messages: null });
        await openai.beta.threads.runs.poll(run.id, { thread_id: run.thread_id });
      }
    }
  });
});
