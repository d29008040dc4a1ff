import { afterAll, beforeAll, expect, test } from 'bun:test';
import type OpenAI from 'openai';
import { checkedFetch } from '../assistants/checked-fetch.ts';
import { historyOf, scripted, stepsOf, time, weather } from '../assistants/client.ts';
import { CLIENT_MAJORS } from '../assistants/client-majors.ts';
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
let key: string;

beforeAll(async () => {
  gateway = await startGateway();
  ({ openai, key, provider } = await scripted(gateway, (request) => scripts.get(nameOf(request))![roundsOf(request)]!));
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
  // Some models give every call the same id.
  ...(random.below(4) === 0 && { id: 'call_same' }),
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
  const { fetch, checked } = checkedFetch();
  const major = random.pick(Object.keys(CLIENT_MAJORS));
  const client = CLIENT_MAJORS[major]!({ url: gateway.url, key, fetch });
  const { threads } = client.openai.beta;
  const { id: thread_id } = await threads.create({ messages: [{ role: 'user', content: name }] });
  let runId = '';
  let status = '';
  for (let round = 0; ; round++) {
    const place = { thread_id, run_id: runId };
    const asked = round === 0 ? null : (await client.retrieveRun(place)).required_action!;
    const outputs = asked?.submit_tool_outputs.tool_calls.map(({ id }) => ({ tool_call_id: id, output: `of ${id}` }));
    const stream = outputs ? client.submitStream(place, outputs) : threads.runs.stream(thread_id, { assistant_id });
    if (script[round]!.stallAfter !== undefined) {
      stream.on('event', ({ event, data }) => {
        if (event !== 'thread.run.in_progress') return;
        setTimeout(() => client.cancelRun({ thread_id, run_id: data.id }).catch(() => {}), 20 + random.below(60));
      });
    }
    const run = await stream.finalRun().catch((error: unknown) => {
      const last = stream.currentRun();
      // Its helper does not know that `incomplete` is an end.
      if (major === 'openai 4' && last?.status === 'incomplete') return last;
      throw error;
    });
    await checked();
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
});
