import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import type OpenAI from 'openai';
import { toFile } from 'openai';
import { JAIL_MS, pythonOf } from '../assistants/jail.ts';
import { type ScriptedAnswer, startScriptedProvider } from '../assistants/scripted-provider.ts';
import { startGateway, type TestGateway } from '../gateway.ts';
import { openaiClient } from '../sdk-clients.ts';

type Output = OpenAI.Responses.ResponseOutputItem;
type Call = OpenAI.Responses.ResponseCodeInterpreterToolCall;
type Citation = OpenAI.Responses.ResponseOutputText.ContainerFileCitation;

/** `responses` is the vendor's own format, which knows the tool itself: here the gateway is behind it once more. */
const FORMATS = ['chat', 'anthropic', 'gemini', 'responses'] as const;
const SUMS = [
  'n = sum(map(int, open("sales.csv")))',
  'with open("sum.txt", "w") as file: file.write(str(n))',
  'print("it is", n)',
].join('\n');
const auto = (...file_ids: string[]) => ({
  type: 'code_interpreter' as const,
  container: { type: 'auto' as const, ...(file_ids.length > 0 && { file_ids }) },
});
const include = ['code_interpreter_call.outputs' as const];
const asks = (code: string) => `call code_interpreter ${JSON.stringify({ code })}`;
const callsIn = ({ output }: { output: Output[] }) =>
  output.filter((item): item is Call => item.type === 'code_interpreter_call');
const logsIn = (response: { output: Output[] }) =>
  callsIn(response).flatMap(({ outputs }) => (outputs ?? []).map((each) => (each.type === 'logs' ? each.logs : '')));
const citationsIn = ({ output }: { output: Output[] }) =>
  output
    .flatMap((item) => (item.type === 'message' ? item.content : []))
    .flatMap((part) => (part.type === 'output_text' ? (part.annotations as Citation[]) : []));

for (const engine of ['sqlite', 'postgres'] as const)
  describe(`on ${engine}`, () => {
    let gateway: TestGateway;
    let dataDir: string;
    const clients = {} as Record<(typeof FORMATS)[number], OpenAI>;
    let openai: OpenAI;
    let fileId: string;
    let made: OpenAI.Responses.Response;
    let container: string;
    beforeAll(async () => {
      dataDir = await pythonOf[engine].dataDir();
      gateway = await startGateway({
        engine,
        environment: { ...pythonOf[engine].environment, GATEWAY_DATA_DIR: dataDir },
      });
      const { given, provider, url } = gateway;
      const format = async (slug: (typeof FORMATS)[number], name: string, custom_host: string, key = 'simulated') => {
        await given.virtualKey({ slug, provider: name, key, custom_host });
        const made = await given.apiKey({ defaults: { virtual_key: slug } });
        clients[slug] = openaiClient(url, made.key);
        return made.key as string;
      };
      const chat = await format('chat', 'groq', provider.url);
      await format('anthropic', 'anthropic', provider.url);
      await format('gemini', 'google', `${provider.origin}/v1beta`);
      await format('responses', 'openai', `${url}/v1`, chat);
      openai = clients.chat;
      const file = await toFile(Buffer.from('1\n2\n39\n'), 'sales.csv');
      fileId = (await openai.files.create({ purpose: 'user_data', file })).id;
      made = await openai.responses.create({ model: 'any', input: asks(SUMS), tools: [auto(fileId)], include });
      container = callsIn(made)[0]!.container_id;
    }, JAIL_MS);
    afterAll(async () => {
      await gateway.stop();
      rmSync(dataDir, { recursive: true, force: true });
    });

    /** A model that gives these answers one after the other. */
    async function scripted(...answers: ScriptedAnswer[]) {
      const provider = startScriptedProvider((request, number) => ({
        ...(answers[number - 1] ?? { parts: [{ text: 'Done.' }] }),
        isWhole: request.stream !== true,
      }));
      const slug = `scripted-${crypto.randomUUID().slice(0, 8)}`;
      await gateway.given.virtualKey({ slug, provider: 'groq', key: 'k', custom_host: provider.url });
      const { key } = await gateway.given.apiKey({ defaults: { virtual_key: slug } });
      return { provider, client: openaiClient(gateway.url, key), slug };
    }
    const runs = (code: string): ScriptedAnswer => ({
      parts: [{ call: 'code_interpreter', arguments: JSON.stringify({ code }) }],
    });

    test('a model runs code on our files, cites what it wrote, and shows what was printed to who asks for it', async () => {
      expect(made).toMatchObject({ object: 'response', status: 'completed', tools: [auto(fileId)] });
      const [call] = callsIn(made) as [Call];
      expect(call).toMatchObject({ status: 'completed', code: SUMS, outputs: [{ type: 'logs', logs: 'it is 42' }] });
      expect(call.id).toStartWith('ci_');
      expect(container).toStartWith('cntr_');
      const [citation] = citationsIn(made) as [Citation];
      expect(citation).toMatchObject({ type: 'container_file_citation', container_id: container, filename: 'sum.txt' });
      expect(made.output_text.slice(citation.start_index, citation.end_index)).toBe('sandbox:/mnt/data/sum.txt');
      expect(await (await openai.files.content(citation.file_id)).text()).toBe('42');
      expect(callsIn(await openai.responses.retrieve(made.id))[0]!.outputs).toBeNull();
      expect(logsIn(await openai.responses.retrieve(made.id, { include }))).toEqual(['it is 42']);
    });

    test('models of every format go on in the same container, with the events of the vendor', async () => {
      const code = 'n += 1\nwith open("a b.txt", "w") as file: file.write("ü")\nn * int(open("sum.txt").read())';
      const named = { tools: [{ type: 'code_interpreter' as const, container }] };
      const later = { tools: [auto()], previous_response_id: made.id };
      for (const [index, name] of FORMATS.entries()) {
        const stream = await clients[name].responses.create({
          ...{ model: 'any', input: asks(code), stream: true, include },
          ...(name === 'gemini' ? named : later),
        });
        const events: OpenAI.Responses.ResponseStreamEvent[] = [];
        for await (const event of stream) events.push(event);
        expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, number) => number));
        const types = events.map(({ type }) => type);
        expect(types.filter((type, at) => type !== types[at - 1])).toEqual([
          'response.created',
          'response.in_progress',
          'response.output_item.added',
          'response.code_interpreter_call.in_progress',
          'response.code_interpreter_call_code.delta',
          'response.code_interpreter_call_code.done',
          'response.code_interpreter_call.interpreting',
          'response.code_interpreter_call.completed',
          'response.output_item.done',
          'response.output_item.added',
          'response.content_part.added',
          'response.output_text.delta',
          'response.output_text.annotation.added',
          'response.output_text.done',
          'response.content_part.done',
          'response.output_item.done',
          'response.completed',
        ]);
        const written = events.flatMap((event) =>
          event.type === 'response.code_interpreter_call_code.delta' ? event.delta : [],
        );
        expect(written.join('')).toBe(code);
        const { response } = events.at(-1) as OpenAI.Responses.ResponseCompletedEvent;
        expect(callsIn(response)).toMatchObject([{ container_id: container, status: 'completed' }]);
        expect(logsIn(response)).toEqual([String((43 + index) * 42)]);
        const added = events.flatMap((event) =>
          event.type === 'response.output_text.annotation.added' ? [event.annotation as Citation] : [],
        );
        expect(added).toEqual(citationsIn(response));
        expect(added.map(({ filename }) => filename)).toContain('a b.txt');
      }
    });

    test('variables stay from round to round; a picture is a file; what fails is told to the model', async () => {
      const picture = 'class P:\n  def _repr_png_(self): return bytes.fromhex("89504e470d0a1a0a")\ndisplay(P())';
      const { client, provider } = await scripted(runs('x = 1'), runs('x + 1'), runs(picture), runs('1 / 0'), {
        parts: [{ call: 'code_interpreter', arguments: 'print(1)' }],
      });
      const body = { model: 'm', input: 'Go', tools: [auto()], previous_response_id: made.id, include };
      const calls = callsIn(await client.responses.create(body));
      expect(calls.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed', 'completed', 'failed']);
      expect(calls[1]!.outputs).toEqual([{ type: 'logs', logs: '2' }]);
      const [image] = calls[2]!.outputs as [OpenAI.Responses.ResponseCodeInterpreterToolCall.Image];
      const id = new URL(image.url).pathname.match(/^\/v1\/files\/([^/]+)\/content$/)![1]!;
      expect(Buffer.from(await (await openai.files.content(id)).arrayBuffer()).toString('hex')).toStartWith('89504e47');
      expect(JSON.stringify(provider.requests[4]!.messages.at(-1))).toContain('ZeroDivisionError');
      expect(JSON.stringify(provider.requests[5]!.messages.at(-1))).toContain('was not run');
      const first = JSON.stringify(provider.requests[0]);
      expect(first).toContain('it is 42');
      expect(first).toContain('/mnt/data/sales.csv (7 bytes)');
    });

    test('guardrails see what code printed', async () => {
      const { slug } = await scripted(runs('print("Posei" + "donis")'));
      const words = { words: ['Poseidonis'], operator: 'none' };
      const config = {
        virtual_key: slug,
        input_guardrails: [{ id: 'no-city', deny: true, 'default.contains': words }],
      };
      const body = { model: 'm', input: 'Which city?', tools: [auto()] };
      const headers = { 'x-gateway-config': JSON.stringify(config) };
      expect((await gateway.api.post('/v1/responses', body, { headers })).status).toBe(446);
    });

    test('what is named wrongly, or is of another workspace, is refused alike', async () => {
      const { id: workspace_id } = await gateway.given.workspace();
      await gateway.given.virtualKey({
        ...{ slug: 'theirs', provider: 'groq', key: 'k', workspace_id },
        custom_host: gateway.provider.url,
      });
      const { key } = await gateway.given.apiKey({ workspace_id, defaults: { virtual_key: 'theirs' } });
      const stranger = openaiClient(gateway.url, key);
      const faultOf = (tool: object, client = openai, more = {}) =>
        client.responses
          .create({ model: 'any', input: asks('n'), tools: [tool as ReturnType<typeof auto>], ...more })
          .then(
            ({ status }) => status,
            (error) => `${error.status} ${error.param ?? error.code}`,
          );
      const messageOf = (tool: object, client: OpenAI) =>
        client.responses.create({ model: 'any', input: 'Go', tools: [tool as ReturnType<typeof auto>] }).then(
          () => '',
          ({ message }) => message as string,
        );
      const named = (id: string) => ({ type: 'code_interpreter', container: id });
      expect(await messageOf(named(container), stranger)).toBe(
        (await messageOf(named('cntr_none'), stranger)).replace('cntr_none', container),
      );
      expect(await messageOf(auto(fileId), stranger)).toBe(
        (await messageOf(auto('file-none'), stranger)).replace('file-none', fileId),
      );
      expect(await messageOf(named(container), stranger)).toStartWith('404');
      // A call that another workspace's container stands in brings nothing of it back.
      const item = { ...callsIn(made)[0]!, outputs: [] };
      const taken = await stranger.responses.create({
        ...{ model: 'any', tools: [auto()], include, store: false },
        input: [item, { role: 'user', content: asks('n') }] as OpenAI.Responses.ResponseInput,
      });
      expect(logsIn(taken)[0]).toContain('NameError');
      expect(callsIn(taken)[0]!.container_id).not.toBe(container);
      // A container is no response, and its code no item of one.
      for (const id of [container, 'cntr_none'])
        expect(await openai.responses.retrieve(id).catch(({ status }) => status)).toBe(404);
      const referring = (id: string) =>
        stranger.responses
          .create({ model: 'any', tools: [auto()], input: [{ type: 'item_reference', id }] })
          .then(String, ({ message }) => message as string);
      const cell = callsIn(taken)[0]!.id;
      expect(await referring(cell)).toBe((await referring('ci_none')).replace('ci_none', cell));
      expect(await faultOf(auto(), openai, { previous_response_id: container })).toMatch(
        /^40[04] previous_response_id/,
      );

      expect(await faultOf({ type: 'code_interpreter' })).toBe('400 tools[0].container');
      expect(await faultOf({ type: 'code_interpreter', container: {} })).toBe('400 tools[0].container.type');
      const wrong = (more: object) => faultOf({ type: 'code_interpreter', container: { type: 'auto', ...more } });
      expect(await wrong({ file_ids: 'x' })).toBe('400 tools[0].container.file_ids');
      expect(await wrong({ file_ids: Array.from({ length: 51 }, (_, at) => `f${at}`) })).toBe(
        '400 tools[0].container.file_ids',
      );
      expect(await wrong({ memory_limit: '64g' })).toBe('400 tools[0].container.memory_limit');
      expect(await wrong({ network_policy: { type: 'allowlist', allowed_domains: ['a.com'] } })).toBe(
        '400 tools[0].container.network_policy.type',
      );
      expect(await faultOf({ ...auto(), allowed_callers: ['programmatic'] })).toBe('400 tools[0].allowed_callers');
    });
  });

test('where the interpreter is switched off, the tool is refused by its name', async () => {
  const gateway = await startGateway({ environment: { GATEWAY_INTERPRETER: 'false' } });
  try {
    await gateway.given.virtualKey({ slug: 'chat', provider: 'groq', key: 'k', custom_host: gateway.provider.url });
    for (const headers of [{}, { 'x-gateway-hosted-tools': 'gateway' }]) {
      const body = { model: 'm', input: 'Go', tools: [auto()] };
      const reply = await gateway.api.post('/v1/responses', body, {
        headers: { 'x-gateway-virtual-key': 'chat', ...(headers as Record<string, string>) },
      });
      expect(reply).toMatchObject({ status: 400, json: { error: { code: 'hosted_tool_off', param: 'tools[0]' } } });
    }
  } finally {
    await gateway.stop();
  }
});
