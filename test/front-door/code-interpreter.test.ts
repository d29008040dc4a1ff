import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type OpenAI from 'openai';
import { toFile } from 'openai';
import { checkStep, clientFor, scripted } from '../assistants/client.ts';
import { checkGrammar, eventsIn } from '../assistants/grammar.ts';
import { JAIL_MS, pythonOf } from '../assistants/jail.ts';
import { dataDirWithSnapshot, PREPARED_MS } from '../assistants/sandbox.ts';
import type { ScriptedAnswer } from '../assistants/scripted-provider.ts';
import { startGateway, type TestGateway } from '../gateway.ts';
import { eventually, forTests, root, runGateway } from '../process.ts';

let gateway: TestGateway;
let dataDir: string;
beforeAll(async () => {
  dataDir = await dataDirWithSnapshot();
  gateway = await startGateway({ environment: { GATEWAY_DATA_DIR: dataDir, GATEWAY_INTERPRETER_SECONDS: '20' } });
}, PREPARED_MS);
afterAll(async () => {
  await gateway.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

const tools = [{ type: 'code_interpreter' as const }];
const says = (text: string): ScriptedAnswer => ({ parts: [{ text }] });
const runs = (...codes: string[]): ScriptedAnswer => ({
  parts: codes.map((code) => ({ call: 'code_interpreter', arguments: JSON.stringify({ code }) })),
});

/** An assistant with the interpreter, on a model that gives these answers one after the other. */
async function given(...answers: ScriptedAnswer[]) {
  const { openai, provider, key } = await scripted(gateway, (_, number) => answers[number - 1] ?? says('Done.'));
  const { id: assistant_id } = await openai.beta.assistants.create({ model: 'gpt-5', tools });
  return { openai, provider, key, assistant_id };
}

const upload = async (openai: OpenAI, name: string, text: string) =>
  openai.files.create({ purpose: 'assistants', file: await toFile(Buffer.from(text), name) });

/** What the client was refused with. */
const faultOf = async (asked: PromiseLike<unknown>): Promise<Error> => {
  try {
    await asked;
  } catch (error) {
    return error as Error;
  }
  throw new Error('nothing was refused');
};

/** What the calls of code in a run's steps show, oldest first. */
async function shownCalls(openai: OpenAI, threadId: string, runId: string) {
  const calls: { input: string; outputs: { type: string; logs?: string; image?: { file_id?: string } }[] }[] = [];
  for await (const step of openai.beta.threads.runs.steps.list(runId, { thread_id: threadId, order: 'asc' })) {
    checkStep(step);
    if (step.step_details.type !== 'tool_calls') continue;
    for (const call of step.step_details.tool_calls)
      if (call.type === 'code_interpreter') calls.push(call.code_interpreter);
  }
  return calls;
}

describe('the code interpreter', () => {
  test('streams the code, what it printed and the links, in the order of the grammar', async () => {
    const code = 'open("a.txt", "w").write("ü")\nprint("\\u00e4\\n1")\nraise ValueError("no")';
    const { openai, key, assistant_id } = await given(runs(code), says('See sandbox:/mnt/data/a.txt'));
    const thread = await openai.beta.threads.create({ messages: [{ role: 'user', content: 'Go.' }] });

    const response = await fetch(`${gateway.url}/v1/threads/${thread.id}/runs`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ assistant_id, stream: true }),
    });
    const events = eventsIn(await response.text());

    checkGrammar(events, 'create');
    const deltas = events.filter(({ event }) => event === 'thread.run.step.delta').map(({ data }) => data.delta);
    const told = deltas.flatMap(({ step_details }) => step_details.tool_calls.map((call: object) => call));
    expect(told[0]).toMatchObject({ index: 0, type: 'code_interpreter', code_interpreter: { input: '', outputs: [] } });
    expect(told.map(({ code_interpreter }) => code_interpreter.input ?? '').join('')).toBe(code);
    expect(told.length).toBeGreaterThan(4);
    expect(told.at(-1).code_interpreter.outputs).toEqual([
      { index: 0, type: 'logs', logs: expect.stringMatching(/^ä\n1\nTraceback .*line 3.*ValueError: no$/s) },
    ]);
    const whole = events.findLast(({ event }) => event === 'thread.message.completed')!.data.content[0].text;
    const pieces = events
      .filter(({ event }) => event === 'thread.message.delta')
      .map(({ data }) => data.delta.content[0]);
    expect(pieces.map(({ text }) => text.value ?? '').join('')).toBe(whole.value);
    expect(pieces.flatMap(({ text }) => text.annotations ?? [])).toEqual([{ index: 0, ...whole.annotations[0] }]);
    expect(whole.annotations[0]).toMatchObject({ type: 'file_path', start_index: 4, end_index: 27 });
  });

  test("is followed by the vendor's stream helper", async () => {
    const { openai, assistant_id } = await given(runs('1 + 1'), says('Two.'));
    const thread = await openai.beta.threads.create({ messages: [{ role: 'user', content: 'Go.' }] });
    const seen: string[] = [];
    const stream = openai.beta.threads.runs
      .stream(thread.id, { assistant_id })
      .on('toolCallDone', (call) => {
        if (call.type === 'code_interpreter') seen.push(JSON.stringify(call.code_interpreter));
      })
      .on('textDone', ({ value }) => seen.push(value));

    expect((await stream.finalRun()).status).toBe('completed');
    expect(seen).toEqual(['{"input":"1 + 1","outputs":[{"index":0,"type":"logs","logs":"2"}]}', 'Two.']);
  });

  test('keeps variables and files from cell to cell and from run to run', async () => {
    const { openai, assistant_id } = await given(
      runs('x = 20\nopen("n.txt", "w").write("1")', 'x += 1\nx'),
      says('So far.'),
      runs('x * int(open("n.txt").read()) * 2'),
    );
    const thread = await openai.beta.threads.create({ messages: [{ role: 'user', content: 'Go.' }] });
    const first = await openai.beta.threads.runs.createAndPoll(thread.id, { assistant_id });
    const second = await openai.beta.threads.runs.createAndPoll(thread.id, { assistant_id });

    const logs = async (id: string) => (await shownCalls(openai, thread.id, id)).map(({ outputs }) => outputs[0]?.logs);
    expect([await logs(first.id), await logs(second.id)]).toEqual([['1', '21'], ['42']]);
  });

  test("shows images as files, and in the message that follows, for the events of the vendor's client", async () => {
    const picture = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const draws = runs(`import base64, pathlib
path = pathlib.Path('dot.png')
path.write_bytes(base64.b64decode('${picture}'))
display(path)
path`);
    const link = 'See sandbox:/mnt/data/dot.png for it.';
    const { openai, assistant_id } = await given(draws, says(link), says('No more.'));
    const thread = await openai.beta.threads.create({ messages: [{ role: 'user', content: 'Draw.' }] });
    const seen: string[] = [];
    const stream = openai.beta.threads.runs
      .stream(thread.id, { assistant_id })
      .on('imageFileDone', ({ file_id }) => seen.push(`image ${file_id}`))
      .on('textDone', ({ value, annotations }) => seen.push(`${value} ${annotations.map(({ type }) => type)}`));
    const [told] = await stream.finalMessages();
    const { data } = await openai.beta.threads.messages.list(thread.id);

    const [message] = data;
    const [step] = await shownCalls(openai, thread.id, message!.run_id!);
    const shown = step!.outputs.flatMap(({ image }) => image?.file_id ?? []);
    expect(shown).toHaveLength(2);
    expect(step!.outputs[0]).toEqual({ type: 'image', image: { file_id: expect.stringMatching(/^file-/) } });
    expect(await openai.files.retrieve(shown[0]!)).toMatchObject({
      purpose: 'assistants_output',
      filename: 'image-1.png',
    });
    expect(Buffer.from(await (await openai.files.content(shown[0]!)).arrayBuffer()).toString('base64')).toBe(picture);
    expect(message!.content).toEqual([
      ...shown.map((file_id) => ({ type: 'image_file' as const, image_file: { file_id, detail: 'auto' as const } })),
      { type: 'text', text: { value: link, annotations: [expect.objectContaining({ type: 'file_path' })] } },
    ]);
    expect(told!.content.map(({ type }) => type)).toEqual(message!.content.map(({ type }) => type));
    expect(seen).toEqual([...shown.map((id) => `image ${id}`), `${link} file_path`]);
    // A message of the next run shows what that run has drawn, and the model hears of the earlier one as text.
    await openai.beta.threads.messages.create(thread.id, { role: 'user', content: 'And?' });
    await openai.beta.threads.runs.createAndPoll(thread.id, { assistant_id });
    const last = (await openai.beta.threads.messages.list(thread.id)).data[0]!;
    expect(last.content).toMatchObject([{ type: 'text', text: { value: 'No more.' } }]);
  });

  test('tells the model what is wrong with a call, and goes on', async () => {
    const wrong = { parts: [{ call: 'code_interpreter', arguments: 'print(1)' }] };
    const { openai, provider, assistant_id } = await given(wrong, runs('import numpy'), says('Sorry.'));
    const thread = await openai.beta.threads.create({ messages: [{ role: 'user', content: 'Go.' }] });
    const run = await openai.beta.threads.runs.createAndPoll(thread.id, { assistant_id });

    expect(run.status).toBe('completed');
    expect(provider.requests[1]!.messages.at(-1).content).toBe(
      'The code was not run: give a JSON object with the code as text, {"code": "…"}.',
    );
    expect(provider.requests[2]!.messages.at(-1).content).toEndWith("ModuleNotFoundError: No module named 'numpy'");
    expect((await shownCalls(openai, thread.id, run.id)).map(({ input }) => input)).toEqual([
      'print(1)',
      'import numpy',
    ]);
  });

  test('takes files of assistants and threads, whatever they are called', async () => {
    const { openai, assistant_id } = await given(
      runs('import os\nsorted((name, open(name).read()) for name in os.listdir("/mnt/data"))'),
    );
    const files = [
      await upload(openai, 'a.txt', '1'),
      await upload(openai, 'a.txt', '2'),
      await upload(openai, '.hidden', '3'),
    ];
    const [one, two, three] = files.map(({ id }) => id);
    const resources = (...file_ids: string[]) => ({ tool_resources: { code_interpreter: { file_ids } } });
    await openai.beta.assistants.update(assistant_id, resources(one!));
    const thread = await openai.beta.threads.create({
      ...resources(two!, three!),
      messages: [{ role: 'user', content: 'x' }],
    });
    const run = await openai.beta.threads.runs.createAndPoll(thread.id, { assistant_id });

    const [{ outputs }] = (await shownCalls(openai, thread.id, run.id)) as unknown as [{ outputs: { logs: string }[] }];
    expect(outputs[0]!.logs).toBe(`[('a.txt', '1'), ('${two}-a.txt', '2'), ('hidden', '3')]`);
  });

  test('is stopped with its run', async () => {
    const { openai, provider, assistant_id } = await given(runs('while True: pass'));
    const thread = await openai.beta.threads.create({ messages: [{ role: 'user', content: 'Go.' }] });
    const { id } = await openai.beta.threads.runs.create(thread.id, { assistant_id });
    const shown = () => openai.beta.threads.runs.retrieve(id, { thread_id: thread.id });
    await eventually(
      'the code is shown',
      async () => (await shownCalls(openai, thread.id, id))[0]?.input !== undefined,
    );
    await openai.beta.threads.runs.cancel(id, { thread_id: thread.id });
    await eventually('the run ends', async () => (await shown()).status === 'cancelled');

    expect(await shownCalls(openai, thread.id, id)).toEqual([{ input: 'while True: pass', outputs: [] }]);
    expect(provider.requests).toHaveLength(1);
  });

  test('refuses a twenty-first file of a thread', async () => {
    const { openai } = await given();
    const { id } = await upload(openai, 'a.txt', '1');
    const more = await upload(openai, 'b.txt', '1');
    const many = [];
    for (let count = 0; count < 19; count++) many.push((await upload(openai, `${count}.txt`, '1')).id);
    const thread = await openai.beta.threads.create({
      tool_resources: { code_interpreter: { file_ids: [id, ...many] } },
    });
    const attachments = [{ file_id: more.id, tools }];
    const refusal = await faultOf(
      openai.beta.threads.messages.create(thread.id, { role: 'user', content: 'x', attachments }),
    );

    expect(refusal).toMatchObject({ status: 400, param: 'attachments', code: 'invalid_value' });
    expect(refusal.message).toContain('at most 20');
    expect((await openai.beta.threads.messages.list(thread.id)).data).toEqual([]);
  });
});

test(
  'a second node goes on where the first one was, on PostgreSQL',
  async () => {
    const answers = [
      runs('x = 41\nopen("made.txt", "w").write("1")'),
      says('One.'),
      runs('x + int(open("made.txt").read())'),
    ];
    const { dataDir: newPlace, environment: jail } = pythonOf.postgres;
    const [firstDir, secondDir] = [await newPlace(), await newPlace()];
    const first = await startGateway({ engine: 'postgres', environment: { ...jail, GATEWAY_DATA_DIR: firstDir } });
    const { openai, slug } = await scripted(first, (_, number) => answers[number - 1] ?? says('Done.'));
    const { id: assistant_id } = await openai.beta.assistants.create({ model: 'gpt-5', tools });
    const thread = await openai.beta.threads.create({ messages: [{ role: 'user', content: 'Go.' }] });
    await openai.beta.threads.runs.createAndPoll(thread.id, { assistant_id });
    const environment = { ...jail, GATEWAY_DATA_DIR: secondDir };
    const second = await startGateway({ engine: 'postgres', databaseUrl: first.databaseUrl!, environment });
    await first.stop();

    const again = (await clientFor(second, slug)).openai;
    const run = await again.beta.threads.runs.createAndPoll(thread.id, { assistant_id });

    expect((await shownCalls(again, thread.id, run.id)).map(({ outputs }) => outputs[0]?.logs)).toEqual(['42']);
    expect((await again.files.list({ purpose: 'assistants_output' })).data).toHaveLength(1);
    await second.stop();
    for (const folder of [firstDir, secondDir]) rmSync(folder, { recursive: true, force: true });
  },
  JAIL_MS,
);

/** An operator's own script around Deno, which the gateway puts no fences around. */
const scriptFolder = mkdtempSync(join(tmpdir(), 'gateway-deno-'));
const denoScript = join(scriptFolder, 'deno');
const deno = join(root, 'node_modules/@deno', `linux-${process.arch}-glibc`, 'deno');
writeFileSync(denoScript, `#!/bin/sh\nexec '${deno}' "$@"\n`, { mode: 0o700 });
afterAll(() => rmSync(scriptFolder, { recursive: true, force: true }));

const withoutInterpreter = {
  'whose interpreter is switched off': { GATEWAY_INTERPRETER: 'false' },
  'that has nothing to run code with': { GATEWAY_INTERPRETER_DENO: '/nowhere/deno' },
  'that requires fences which are not there': {
    GATEWAY_INTERPRETER_DENO: denoScript,
    GATEWAY_INTERPRETER_FENCES: 'required',
  },
};
for (const [name, environment] of Object.entries(withoutInterpreter))
  test(`a gateway ${name} refuses tools, resources and attachments that ask for it`, async () => {
    const without = await startGateway({ environment });
    const { openai } = await scripted(without, () => says('x'));
    const { id } = await upload(openai, 'a.txt', '1');
    const thread = await openai.beta.threads.create();
    const attachments = [{ file_id: id, tools }];
    const refusals = {
      tools: await faultOf(openai.beta.assistants.create({ model: 'gpt-5', tools })),
      tool_resources: await faultOf(
        openai.beta.threads.create({ tool_resources: { code_interpreter: { file_ids: [id] } } }),
      ),
      attachments: await faultOf(
        openai.beta.threads.messages.create(thread.id, { role: 'user', content: 'x', attachments }),
      ),
    };
    await without.stop();

    for (const [param, refusal] of Object.entries(refusals)) {
      expect(refusal).toMatchObject({ status: 400, param, code: 'unsupported_value' });
      expect(refusal.message).toContain("this gateway has no 'code_interpreter'");
    }
  });

test('doctor says whether code of models can be run, and why not', async () => {
  const said = async (environment: Record<string, string>) =>
    (await runGateway({ arguments: ['doctor'], environment: { ...forTests, ...environment } })).output;

  const usual = await said({});
  expect(usual).toMatch(/ok +interpreter +code of models runs in Deno \d/);
  for (const fence of ['namespaces', 'files', 'system calls'])
    expect(usual).toMatch(new RegExp(`(?:ok +fence +${fence}: no |warn +fence +${fence}: missing, because \\S)`));
  const unfenced = await said(withoutInterpreter['that requires fences which are not there']);
  expect(unfenced).toMatch(/warn +interpreter .*GATEWAY_INTERPRETER_FENCES is required/);
  expect(unfenced).toMatch(/warn +fence +files: missing, because GATEWAY_INTERPRETER_DENO is a script/);
  expect(await said(withoutInterpreter['whose interpreter is switched off'])).toMatch(
    /ok +interpreter .*GATEWAY_INTERPRETER is/,
  );
  expect(await said(withoutInterpreter['that has nothing to run code with'])).toMatch(
    /warn +interpreter .*\/nowhere\/deno/,
  );
});
