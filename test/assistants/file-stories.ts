import { expect } from 'bun:test';
import type OpenAI from 'openai';
import type { ClientMajor } from './client-majors.ts';
import type { ChatRequest, ScriptedAnswer, ScriptedProvider } from './scripted-provider.ts';

/** What people do with files, for any major of the vendor's client; `model` is what the model says in it. */
export interface Story {
  readonly model: (request: ChatRequest, number: number) => ScriptedAnswer;
  tell(client: ClientMajor, provider: ScriptedProvider): Promise<void>;
}

export const ATLAS = 'Atlantis is a city in the sea. The capital of Atlantis is Poseidonis, and its harbour is deep.';
export const COOKING = 'A loaf of bread needs flour, water, salt and time. Knead the dough and let it rest.';

export async function storeWith(openai: OpenAI, files: Record<string, string>) {
  const store = await openai.vectorStores.create({ name: 'knowledge' });
  const ids: Record<string, string> = {};
  for (const [name, text] of Object.entries(files)) {
    const file = await openai.vectorStores.files.uploadAndPoll(store.id, new File([text], name));
    expect(file).toMatchObject({ status: 'completed', last_error: null });
    ids[name] = file.id;
  }
  return { store, ids };
}

/** A model that searches once and then answers with what `answer` makes of what it was shown. */
export const searching =
  (answer: (markers: readonly string[]) => NonNullable<ScriptedAnswer['parts']>) =>
  ({ messages }: ChatRequest): ScriptedAnswer => {
    const output = messages.findLast(({ role }) => role === 'tool')?.content;
    if (output === undefined)
      return { parts: [{ call: 'file_search', arguments: '{"queries":["capital of Atlantis"]}' }] };
    return { parts: answer(output.match(/【\d+:\d+†source】/g) ?? []) };
  };

type Step = Awaited<ReturnType<ClientMajor['retrieveStep']>>;

function fileSearchIn({ step_details }: Pick<Step, 'step_details'>) {
  const { tool_calls } = step_details as OpenAI.Beta.Threads.Runs.ToolCallsStepDetails;
  return (tool_calls[0] as OpenAI.Beta.Threads.Runs.FileSearchToolCall).file_search;
}

const textOf = ([block]: OpenAI.Beta.Threads.MessageContent[]) => {
  if (block?.type !== 'text') throw new Error(`there is no text but ${block?.type}`);
  return block.text;
};

const CONTENT = 'step_details.tool_calls[*].file_search.results[*].content';
const CITED = '😀 It is Poseidonis【0:0†source】. Ask me more.';

export const fileSearch: Story = {
  model: searching(([first]) => [{ text: `😀 It is Poseidonis${first}. 【9:9†source】Ask me more.` }]),

  async tell(client, provider) {
    const { openai } = client;
    const { store, ids } = await storeWith(openai, { 'atlas.txt': ATLAS, 'cooking.md': COOKING });
    const file_id = ids['atlas.txt']!;
    const ranking_options = { ranker: 'default_2024_08_21' as const, score_threshold: 0.2 };
    const { id: assistant_id } = await openai.beta.assistants.create({
      model: 'gpt-5',
      tools: [{ type: 'file_search', file_search: { ranking_options } }],
      tool_resources: { file_search: { vector_store_ids: [store.id] } },
    });
    const question = { role: 'user' as const, content: 'What is the capital of Atlantis?' };
    const { id: thread_id } = await openai.beta.threads.create({ messages: [question] });

    const run = await openai.beta.threads.runs.createAndPoll(thread_id, { assistant_id });

    expect(run).toMatchObject({ status: 'completed', last_error: null });
    expect(provider.requests[0]!.tools[0]).toMatchObject({ type: 'function', function: { name: 'file_search' } });
    const [message] = (await openai.beta.threads.messages.list(thread_id, { run_id: run.id })).data;
    const { value, annotations } = textOf(message!.content);
    expect(value).toBe(CITED);
    const citation = { type: 'file_citation', text: '【0:0†source】', start_index: 19, end_index: 31 } as const;
    expect(annotations).toEqual([{ ...citation, file_citation: { file_id } }]);
    expect(value.slice(19, 31)).toBe('【0:0†source】');

    const place = { thread_id, run_id: run.id };
    const [searched] = (await client.listSteps(place, { order: 'asc' })).data;
    const found = fileSearchIn(searched!);
    expect(found.ranking_options).toEqual(ranking_options);
    expect(found.results![0]).toMatchObject({ file_id, file_name: 'atlas.txt' });
    expect(found.results![0]!.content).toBeUndefined();
    const whole = await client.retrieveStep({ ...place, step_id: searched!.id }, { include: [CONTENT] });
    expect(fileSearchIn(whole).results![0]!.content).toEqual([{ type: 'text', text: ATLAS }]);

    for (const include of [[], [CONTENT]] as (typeof CONTENT)[][]) {
      const { id } = await openai.beta.threads.create({ messages: [question] });
      const steps: Step[] = [];
      const stream = openai.beta.threads.runs.stream(id, { assistant_id, include }).on('runStepDone', (step) => {
        if (step.type === 'tool_calls') steps.push(step);
      });
      const [told] = await stream.finalMessages();
      expect(textOf(told!.content)).toMatchObject({ value: CITED, annotations: [{ file_citation: { file_id } }] });
      const [content] = steps.map((step) => fileSearchIn(step).results![0]!.content);
      expect(content).toEqual(include.length === 0 ? undefined : [{ type: 'text', text: ATLAS }]);
    }
  },
};

const SUM = `import csv
rows = list(csv.DictReader(open('/mnt/data/sales.csv')))
total = sum(int(row['amount']) for row in rows)
with open('/mnt/data/totals.csv', 'w') as file:
    file.write(f'total\\n{total}\\n')
total`;
const LINKS = 'Grüße 🎉: [totals](sandbox:/mnt/data/totals.csv), not sandbox:/mnt/data/totals.csv.gz.';

export const codeInterpreter: Story = {
  model: (_, number) =>
    number === 1
      ? { parts: [{ call: 'code_interpreter', arguments: JSON.stringify({ code: SUM }) }] }
      : { parts: [{ text: LINKS }] },

  async tell(client, provider) {
    const { openai } = client;
    const tools = [{ type: 'code_interpreter' as const }];
    const { id: assistant_id } = await openai.beta.assistants.create({ model: 'gpt-5', tools });
    const file = new File(['amount\n40\n2\n'], 'sales.csv');
    const sales = await openai.files.create({ purpose: 'assistants', file });
    const attachments = [{ file_id: sales.id, tools }];
    const { id: thread_id } = await openai.beta.threads.create({
      messages: [{ role: 'user', content: 'Add it up.', attachments }],
    });

    const run = await openai.beta.threads.runs.createAndPoll(thread_id, { assistant_id });

    expect(run).toMatchObject({ status: 'completed', last_error: null });
    expect((await openai.beta.threads.retrieve(thread_id)).tool_resources).toEqual({
      code_interpreter: { file_ids: [sales.id] },
    });
    const [offer] = provider.requests[0]!.tools;
    expect(offer.function).toMatchObject({
      name: 'code_interpreter',
      parameters: { properties: { code: { type: 'string' } }, required: ['code'] },
    });
    expect(offer.function.description).toContain('/mnt/data/sales.csv (12 bytes)');
    const [ran] = (await client.listSteps({ thread_id, run_id: run.id }, { order: 'asc' })).data;
    expect(ran!.step_details).toMatchObject({
      tool_calls: [{ code_interpreter: { input: SUM, outputs: [{ type: 'logs', logs: '42' }] } }],
    });
    expect(provider.requests[1]!.messages.at(-1).content).toBe('42\n[file written: sandbox:/mnt/data/totals.csv]');

    const [message] = (await openai.beta.threads.messages.list(thread_id)).data;
    const { value, annotations } = textOf(message!.content);
    expect(value).toBe(LINKS);
    expect(annotations).toHaveLength(1);
    const [annotation] = annotations;
    if (annotation?.type !== 'file_path') throw new Error('no file path');
    expect(annotation.text).toBe('sandbox:/mnt/data/totals.csv');
    expect(LINKS.slice(annotation.start_index, annotation.end_index)).toBe(annotation.text);
    const made = await openai.files.retrieve(annotation.file_path.file_id);
    expect(made).toMatchObject({ filename: 'totals.csv', purpose: 'assistants_output', bytes: 9 });
    expect(await (await openai.files.content(made.id)).text()).toBe('total\n42\n');
  },
};
