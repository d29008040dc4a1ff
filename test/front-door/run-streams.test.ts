import { afterAll, beforeAll, expect, test } from 'bun:test';
import OpenAI from 'openai';
import { historyOf, scripted, stepsOf, time, weather } from '../assistants/client.ts';
import { checkGrammar, eventsIn } from '../assistants/grammar.ts';
import type { ChatRequest, ScriptedAnswer, ScriptedProvider } from '../assistants/scripted-provider.ts';
import { seeded } from '../fuzz.ts';
import { startGateway, type TestGateway } from '../gateway.ts';

type Random = ReturnType<typeof seeded>;
type Part = NonNullable<ScriptedAnswer['parts']>[number];

let gateway: TestGateway;
let openai: OpenAI;
let provider: ScriptedProvider;
/** What the model of each thread says, call by call. */
const scripts = new Map<string, ScriptedAnswer[]>();
/** The streams as they came over the wire, by the request's own header. */
const streams = new Map<string, Promise<string>>();

beforeAll(async () => {
  gateway = await startGateway();
  const given = await scripted(gateway, (request) => scripts.get(nameOf(request))![roundsOf(request)]!);
  provider = given.provider;
  openai = new OpenAI({
    baseURL: `${gateway.url}/v1`,
    apiKey: given.key,
    maxRetries: 0,
    fetch: async (url, init) => {
      const response = await fetch(url as string, init as RequestInit);
      const name = new Headers(init?.headers as Record<string, string>).get('x-test-stream');
      if (name) streams.set(name, response.clone().text());
      return response;
    },
  });
});
afterAll(async () => {
  provider.stop();
  await gateway.stop();
});

const nameOf = ({ messages }: ChatRequest): string => messages[0].content;
/** How often tools have answered in this run. */
const roundsOf = ({ messages }: ChatRequest): number => messages.filter(({ tool_calls }) => tool_calls).length;

const WORDS = ['so', 'be', 'it,', 'naïve', '言葉', '🌊', '"quoted"', 'line\nbreak', '{"json":1}', '\\'];
const textOf = (random: Random) => Array.from({ length: 1 + random.below(12) }, () => random.pick(WORDS)).join(' ');
const callOf = (random: Random): Part => ({
  call: random.pick(['get_weather', 'get_time']),
  arguments: JSON.stringify({ n: random.below(100), text: random.pick(WORDS) }),
});

function answerOf(random: Random, isLast: boolean): ScriptedAnswer {
  const pace = random.below(3) === 0 ? { chunkDelayMs: random.below(8) } : {};
  const usage = random.below(4) === 0 ? { usage: null } : {};
  const calls = Array.from({ length: 1 + random.below(3) }, () => callOf(random));
  const text = { text: textOf(random) };
  if (!isLast) {
    const parts = random.pick([calls, [text, ...calls], [...calls, text]]);
    return { parts, ...pace, ...usage };
  }
  return {
    ...pace,
    ...usage,
    ...random.pick<ScriptedAnswer>([
      { parts: [text] },
      { parts: [text, { refusal: 'No more.' }] },
      { parts: [] },
      { parts: [text], isWhole: true },
      { parts: [text], finish: 'length' },
      { parts: [text], finish: 'content_filter' },
      { parts: calls, finish: 'length' },
      { status: random.pick([400, 429, 500, 503]) },
      { parts: [text], cutAfter: random.below(6) },
      { parts: calls, cutAfter: random.below(6) },
      { parts: [text], failAfter: 1 + random.below(4) },
      { parts: [text], stallAfter: random.below(6) },
      { parts: calls, stallAfter: 2 },
    ]),
  };
}

/** How a run with such a last answer may end. */
function endsOf(answer: ScriptedAnswer): string[] {
  if (answer.stallAfter !== undefined) return ['cancelled', 'completed', 'requires_action'];
  if (answer.status) return ['failed'];
  // Cut or failing behind its last chunk, an answer is whole.
  if (answer.cutAfter !== undefined || answer.failAfter !== undefined)
    return ['failed', 'completed', 'requires_action'];
  return answer.finish === 'length' ? ['incomplete'] : ['completed'];
}

async function play(name: string, random: Random, assistant_id: string): Promise<void> {
  const rounds = random.below(3);
  const script = [...Array(rounds).keys()].map(() => answerOf(random, false));
  script.push(answerOf(random, true));
  scripts.set(name, script);
  const { id: thread_id } = await openai.beta.threads.create({ messages: [{ role: 'user', content: name }] });
  const { runs } = openai.beta.threads;
  let runId = '';
  let status = '';
  for (let round = 0; ; round++) {
    const key = `${name} ${round}`;
    const options = { headers: { 'x-test-stream': key } };
    const tool_outputs =
      round === 0
        ? []
        : (await runs.retrieve(runId, { thread_id })).required_action!.submit_tool_outputs.tool_calls.map(({ id }) => ({
            tool_call_id: id,
            output: `output of ${id}`,
          }));
    const stream =
      round === 0
        ? runs.stream(thread_id, { assistant_id }, options)
        : runs.submitToolOutputsStream(runId, { thread_id, tool_outputs }, options);
    if (script[round]!.stallAfter !== undefined) {
      stream.on('event', ({ event, data }) => {
        const isRunning = event === 'thread.run.in_progress';
        if (isRunning) setTimeout(() => runs.cancel(data.id, { thread_id }).catch(() => {}), 20 + random.below(60));
      });
    }
    const run = await stream.finalRun();
    checkGrammar(eventsIn((await streams.get(key))!), round === 0 ? 'create' : 'submit');
    ({ id: runId, status } = run);
    if (status !== 'requires_action' || round === script.length - 1) break;
  }
  const last = script.at(-1)!;
  if (status !== 'requires_action' || endsOf(last).includes('requires_action')) expect(endsOf(last)).toContain(status);
  for (const line of await historyOf(openai, thread_id)) expect(line).not.toContain('in_progress');
  const open = (await stepsOf(openai, thread_id, runId)).filter((line) => line.includes('in_progress'));
  expect(open.length).toBe(status === 'requires_action' ? 1 : 0);
}

test("whatever a model says, streams obey the grammar and the vendor's client takes them", async () => {
  const seed = Number(process.env.RUN_STREAMS_SEED ?? Date.now() % 1_000_000);
  const { id } = await openai.beta.assistants.create({ model: 'gpt-5', tools: [weather, time] });
  for (let batch = 0; batch < 5; batch++) {
    await Promise.all(
      Array.from({ length: 10 }, async (_, number) => {
        const own = seed * 100 + batch * 10 + number;
        await play(`script ${own}`, seeded(own), id).catch((error: unknown) => {
          const script = JSON.stringify(scripts.get(`script ${own}`));
          throw new Error(`seed ${seed}, script ${own} ${script}: ${error instanceof Error ? error.message : error}`);
        });
      }),
    );
  }
}, 30_000);
