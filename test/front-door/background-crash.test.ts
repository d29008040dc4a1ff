import { afterAll, describe, expect, test } from 'bun:test';
import type OpenAI from 'openai';
import { ATLAS, storeWith } from '../assistants/file-stories.ts';
import { dataDirWithSnapshot } from '../assistants/sandbox.ts';
import { type ChatRequest, type ScriptedAnswer, startScriptedProvider } from '../assistants/scripted-provider.ts';
import type { TestGateway } from '../gateway.ts';
import { ledgerOf } from '../ledger.ts';
import { startSmallServer } from '../mcp/small-server.ts';
import { childrenOf, startNode } from '../nodes.ts';
import { createDatabase } from '../postgres.ts';
import { eventually, forTests, type GatewayProcess, newDataDir, removeDataDir, startProcess } from '../process.ts';
import { openaiClient } from '../sdk-clients.ts';

type Event = OpenAI.Responses.ResponseStreamEvent;
/** A lease of a node that died is over after half a minute. */
const MOST_MS = 180_000;
const LOOKS = 'Let me look at that. ';
const SAYS = 'The capital is Poseidonis, on the western harbour.';

const STORIES = {
  undisturbed: { tool: 'file_search', killed: null },
  'in the first answer': { tool: 'file_search', killed: 'begin' },
  'in the last answer': { tool: 'file_search', killed: 'end' },
  'in a tool that reads': { tool: 'crash-tools__read', killed: 'tool' },
  'in a tool that writes': { tool: 'crash-tools__write', killed: 'tool' },
} as const;
type Story = keyof typeof STORIES;
const names = Object.keys(STORIES) as Story[];

for (const engine of ['sqlite', 'postgres'] as const)
  describe(`on ${engine}`, () => {
    const asked = new Map<string, number>();
    const provider = startScriptedProvider((request) => answered(request));
    const tools = startSmallServer({ era: 'older', tools: ['read', 'write'] });
    const dataDir = newDataDir();
    const processes: GatewayProcess[] = [];
    afterAll(async () => {
      for (const each of processes) if (each.isAlive) await each.kill();
      provider.stop();
      tools.stop();
      removeDataDir(dataDir);
    });

    function answered({ messages }: ChatRequest): ScriptedAnswer {
      const story = messages.find(({ role }) => role === 'user').content as Story;
      const stage = messages.at(-1).role === 'tool' ? 'end' : 'begin';
      const number = (asked.get(`${story} ${stage}`) ?? 0) + 1;
      asked.set(`${story} ${stage}`, number);
      const { tool, killed } = STORIES[story];
      const stalls = killed === stage && number === 1 ? { stallAfter: 4 } : {};
      const args = tool === 'file_search' ? '{"queries":["capital"]}' : '{"a":1}';
      return stage === 'end'
        ? { parts: [{ text: SAYS }], ...stalls }
        : { parts: [{ text: LOOKS }, { call: tool, arguments: args, id: 'call_1' }], ...stalls };
    }
    const calls = (name: string) => tools.heard.filter((said) => said.endsWith(`tools/call ${name}`)).length;
    const textOf = (events: readonly Event[]) =>
      events.flatMap((event) => (event.type === 'response.output_text.delta' ? event.delta : [])).join('');
    const idOf = (events: readonly Event[]) => (events[0] as OpenAI.Responses.ResponseCreatedEvent).response.id;
    /** Hears as much as comes, though the connection may die. */
    const listen = async (events: Event[], stream: AsyncIterable<Event>) => {
      try {
        for await (const event of stream) events.push(event);
      } catch {
        // The process was killed.
      }
    };

    test(
      'a process that is killed in the middle of responses is replaced by one that goes on behind the last step',
      async () => {
        const databaseUrl = engine === 'postgres' ? await createDatabase() : null;
        const start = async () => {
          const node = await (databaseUrl ? startNode(databaseUrl) : startProcess({ dataDir }));
          processes.push(node);
          return node;
        };
        const first = await start();
        await first.given.virtualKey(provider.url, 'sim', 'groq');
        const { key, id: keyId } = (
          await first.api.post('/v1/api-keys', {
            ...{ name: 'sdk', defaults: { virtual_key: 'sim' } },
            rate_limits: [{ type: 'requests', unit: 'rph', value: 1_000 }],
          })
        ).json;
        await first.api.post('/v1/mcp-servers', { name: 'crash-tools', slug: 'crash-tools', url: tools.url });
        const openai = openaiClient(first.url, key);
        const { store } = await storeWith(openai, { 'atlas.txt': ATLAS });
        const request = (input: Story) => ({
          ...{ model: 'm', input, background: true, stream: true as const },
          tools: [
            STORIES[input].tool === 'file_search'
              ? { type: 'file_search' as const, vector_store_ids: [store.id] }
              : { type: 'mcp' as const, server_label: 'crash-tools', require_approval: 'never' as const },
          ],
        });
        tools.gate = new Promise(() => {});
        const heard = {} as Record<Story, Event[]>;
        const listening: Promise<void>[] = [];
        for (const story of names) {
          heard[story] = [];
          listening.push(listen(heard[story], await openai.responses.create(request(story))));
        }
        await eventually('each response is where it is to be killed', () => {
          const last = heard['in the last answer'];
          return (
            heard.undisturbed.at(-1)?.type === 'response.completed' &&
            textOf(heard['in the first answer']).length > 0 &&
            textOf(last).length > LOOKS.length &&
            calls('read') === 1 &&
            calls('write') === 1
          );
        });
        await first.kill();
        await Promise.all(listening);
        tools.gate = null;

        const second = await start();
        const again = openaiClient(second.url, key);
        const rest = names.map(async (story) => {
          const starting_after = heard[story].at(-1)!.sequence_number;
          if (story === 'undisturbed') return;
          const stream = await again.responses.retrieve(idOf(heard[story]), { stream: true, starting_after });
          for await (const event of stream) heard[story].push(event);
        });
        await Promise.all(rest);

        const plain = await again.responses.retrieve(idOf(heard.undisturbed));
        const told = (events: readonly Event[]) =>
          events.map(({ type }) => type).filter((type) => !type.endsWith('delta'));
        for (const story of names) {
          const events = heard[story];
          const made = await again.responses.retrieve(idOf(events));
          // Nothing is told twice, nothing is left out, and the pieces make the whole.
          expect([story, events.map(({ sequence_number }) => sequence_number)]).toEqual([
            story,
            events.map((_, at) => at),
          ]);
          expect([story, textOf(events)]).toEqual([story, LOOKS + SAYS]);
          expect(made).toMatchObject({ status: 'completed', usage: plain.usage });
          const done = events.flatMap((event) => (event.type === 'response.output_item.done' ? event.item.id : []));
          expect([story, done]).toEqual([story, made.output.map(({ id }) => id)]);
          const begun = events.flatMap((event) => (event.type === 'response.output_item.added' ? event.item.id : []));
          expect([story, begun]).toEqual([story, done]);
          if (STORIES[story].tool === 'file_search') {
            expect([story, told(events)]).toEqual([story, told(heard.undisturbed)]);
            expect(made.output).toMatchObject([{ type: 'message' }, { type: 'file_search_call' }, { type: 'message' }]);
          }
        }
        // Only what was under way is asked for again.
        expect(Object.fromEntries(asked)).toEqual({
          ...{ 'undisturbed begin': 1, 'undisturbed end': 1 },
          ...{ 'in the first answer begin': 2, 'in the first answer end': 1 },
          ...{ 'in the last answer begin': 1, 'in the last answer end': 2 },
          ...{ 'in a tool that reads begin': 1, 'in a tool that reads end': 1 },
          ...{ 'in a tool that writes begin': 1, 'in a tool that writes end': 1 },
        });
        const callOf = async (story: Story) =>
          (await again.responses.retrieve(idOf(heard[story]))).output.find(({ type }) => type === 'mcp_call');
        expect([calls('read'), calls('write')]).toEqual([2, 1]);
        expect(await callOf('in a tool that reads')).toMatchObject({ status: 'completed', output: 'read {"a":1}' });
        expect(await callOf('in a tool that writes')).toMatchObject({
          ...{ status: 'failed', output: null, error: { message: expect.stringContaining('not known whether') } },
        });
        // No answer is charged twice. What a killed process had not written down yet is charged at what was held for it.
        const place = { dataDir: second.dataDir, databaseUrl } as unknown as TestGateway;
        const charged = async () =>
          (await ledgerOf(place, keyId, 0)).filter(({ output_tokens }) => output_tokens === 5).length;
        const afterwards = 5;
        await eventually('the ledger has the answers', async () => (await charged()) >= 2 + afterwards);
        expect(await charged()).toBeLessThanOrEqual(2 * names.length);
      },
      MOST_MS,
    );
  });

test(
  'code of a response in the background that has run is not run again, and goes on in the same container',
  async () => {
    const dataDir = await dataDirWithSnapshot();
    const slow = 'import asyncio\nawait asyncio.sleep(4)\n';
    const codes = [
      'kept = "from before"\nopen("quick.txt", "w").write("1")',
      `${slow}open("slow.txt", "w").write(kept)\nkept`,
    ];
    const provider = startScriptedProvider((_, number) => {
      const code = codes[number - 1];
      const parts = code
        ? [{ call: 'code_interpreter', arguments: JSON.stringify({ code }) }]
        : [{ text: 'See sandbox:/mnt/data/slow.txt' }];
      return { parts, isWhole: true };
    });
    const environment = { ...forTests, GATEWAY_DATA_DIR: dataDir };
    const first = await startProcess({ dataDir, environment });
    await first.given.virtualKey(provider.url, 'sim', 'groq');
    const { key } = (await first.api.post('/v1/api-keys', { name: 'sdk', defaults: { virtual_key: 'sim' } })).json;
    const { id } = await openaiClient(first.url, key).responses.create({
      ...{ model: 'm', input: 'Go', background: true },
      tools: [{ type: 'code_interpreter', container: { type: 'auto' } }],
    });
    await eventually('the slow code runs', () => provider.requests.length === 2 && childrenOf(first.pid).length > 0);
    await Bun.sleep(500);
    await first.kill();

    const second = await startProcess({ dataDir, environment });
    const again = openaiClient(second.url, key);
    const include = ['code_interpreter_call.outputs' as const];
    const made = () => again.responses.retrieve(id, { include });
    await eventually('the response is over', async () => (await made()).status === 'completed', MOST_MS);
    const { output } = await made();
    const calls = output.filter((item) => item.type === 'code_interpreter_call');
    const files = await again.files.list({ purpose: 'assistants_output' });
    await second.kill();
    provider.stop();
    removeDataDir(dataDir);

    expect(calls.map(({ outputs }) => outputs)).toEqual([
      [{ type: 'logs', logs: '1' }],
      [{ type: 'logs', logs: "'from before'" }],
    ]);
    expect(new Set(calls.map(({ container_id }) => container_id)).size).toBe(1);
    expect(files.data.map(({ filename }) => filename).sort()).toEqual(['quick.txt', 'slow.txt']);
    expect(provider.requests).toHaveLength(3);
    const [part] = output.flatMap((item) => (item.type === 'message' ? item.content : []));
    expect(part).toMatchObject({ annotations: [{ type: 'container_file_citation', filename: 'slow.txt' }] });
  },
  MOST_MS,
);

test(
  'a call that a person has approved is not made twice when its process is killed, and the rest is as undisturbed',
  async () => {
    const dataDir = newDataDir();
    const tools = startSmallServer({ era: 'older', tools: ['read', 'write'] });
    const provider = startScriptedProvider(({ messages }) => {
      const last = messages.at(-1);
      const parts =
        last.role === 'tool' ? [{ text: SAYS }] : [{ call: `approved-tools__${last.content}`, arguments: '{"a":1}' }];
      return { parts, isWhole: true };
    });
    const first = await startProcess({ dataDir });
    await first.given.virtualKey(provider.url, 'sim', 'groq');
    const { key, id: keyId } = (await first.api.post('/v1/api-keys', { name: 'sdk', defaults: { virtual_key: 'sim' } }))
      .json;
    await first.api.post('/v1/mcp-servers', { name: 'approved-tools', slug: 'approved-tools', url: tools.url });
    const openai = openaiClient(first.url, key);
    const asks = { model: 'm', background: true, tools: [{ type: 'mcp' as const, server_label: 'approved-tools' }] };
    const calls = (name: string) => tools.heard.filter((said) => said.endsWith(`tools/call ${name}`)).length;
    const ended = async (client: OpenAI, id: string) => {
      const read = () => client.responses.retrieve(id);
      await eventually('it is over', async () => !/queued|in_progress/.test((await read()).status ?? ''), MOST_MS);
      return read();
    };
    /** Asks for a tool, and lets a person allow it. */
    const approve = async (name: string) => {
      const asked = await ended(openai, (await openai.responses.create({ ...asks, input: name })).id);
      const request = asked.output.find(({ type }) => type === 'mcp_approval_request')!;
      const input = [{ type: 'mcp_approval_response' as const, approval_request_id: request.id!, approve: true }];
      return (await openai.responses.create({ ...asks, input, previous_response_id: asked.id })).id;
    };
    const plain = await ended(openai, await approve('write'));
    tools.gate = new Promise(() => {});
    const [reads, writes] = [await approve('read'), await approve('write')];
    await eventually('both tools run', () => calls('read') === 1 && calls('write') === 2);
    /** How many answers of the model the ledger has, once it has so many. */
    const answersPaid = async (count: number) => {
      const place = { dataDir: first.dataDir, databaseUrl: null } as unknown as TestGateway;
      const read = async () => (await ledgerOf(place, keyId, 0)).filter((row) => row.output_tokens === 5).length;
      await eventually(`${count} answers are in the ledger`, async () => (await read()) >= count);
      return read();
    };
    await answersPaid(4);
    await first.kill();
    tools.gate = null;

    const second = await startProcess({ dataDir });
    const again = openaiClient(second.url, key);
    const [read, written] = [await ended(again, reads), await ended(again, writes)];
    const paid = await answersPaid(6);
    await second.kill();
    provider.stop();
    tools.stop();
    removeDataDir(dataDir);

    const kinds = ({ output }: OpenAI.Responses.Response) => output.map(({ type }) => type);
    expect(kinds(plain).filter((type) => type !== 'mcp_list_tools')).toEqual(['mcp_call', 'message']);
    for (const each of [read, written]) {
      expect([each.status, each.usage, kinds(each)]).toEqual(['completed', plain.usage, kinds(plain)]);
      expect(each.output_text).toBe(SAYS);
    }
    const callIn = ({ output }: OpenAI.Responses.Response) => output.find(({ type }) => type === 'mcp_call');
    expect(callIn(plain)).toMatchObject({ status: 'completed', output: 'write {"a":1}' });
    expect(callIn(read)).toMatchObject({ status: 'completed', output: 'read {"a":1}' });
    expect(callIn(written)).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining('not known whether') },
    });
    expect([calls('read'), calls('write')]).toEqual([2, 2]);
    // Three that asked for a tool, three that answered.
    expect([provider.requests.length, paid]).toEqual([6, 6]);
  },
  MOST_MS,
);
