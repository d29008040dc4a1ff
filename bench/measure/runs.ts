import { adminHeaders, CHAT, createVirtualKey, type GatewayProcess, spawnGateway } from '../gateway.ts';
import type { Lab } from '../lab.ts';
import { percentile, short } from '../numbers.ts';
import { streamRequest } from '../prompt.ts';

export interface RunsSample {
  /** Milliseconds of a streamed chat call, and of a run that makes one such call, to the last byte. */
  readonly chatP50: number;
  readonly runP50: number;
  /** Milliseconds of a response, and of one whose model searches a file first. */
  readonly plainP50: number;
  readonly toolP50: number;
  /** Milliseconds of a page of 100 messages of a long thread, wherever in it. */
  readonly pageP50: number;
  readonly pageP99: number;
}

/** The model's answer: 20 chunks at once. */
const CHUNKS = 20;
const CALLS = 150;
const PAGES = 300;
export const THREAD_LENGTH = 100_000;
const PAGE = 100;
const AT_ONCE = 5_000;

/** What the assistants' engine takes of the client's time, on the embedded store. */
export async function measureRuns(lab: Lab): Promise<RunsSample[]> {
  const gateway = await spawnGateway(lab, { core: lab.cores.proxy });
  await createVirtualKey(gateway.origin, 'plain', `${lab.upstream.url}/v1`);
  const assistant = await post(gateway, '/v1/assistants', { model: 'gpt-4o-mini', instructions: 'Be brief.' });
  lab.say(`runs: making a thread of ${THREAD_LENGTH} messages`);
  const long = await longThread(gateway, assistant.id);
  const storeId = await smallStore(gateway, lab);
  await rounds(gateway, assistant.id, Math.ceil(CALLS / 3));
  await responses(gateway, storeId, Math.ceil(CALLS / 3));
  await pages(gateway, long, Math.ceil(PAGES / 3));
  const samples: RunsSample[] = [];
  for (let round = 0; round < lab.lengths.rounds; round++) {
    const { chats, runs } = await rounds(gateway, assistant.id, CALLS);
    const { plain, withTool } = await responses(gateway, storeId, CALLS);
    const read = await pages(gateway, long, PAGES);
    const sample = {
      chatP50: percentile(chats, 0.5),
      runP50: percentile(runs, 0.5),
      plainP50: percentile(plain, 0.5),
      toolP50: percentile(withTool, 0.5),
      pageP50: percentile(read, 0.5),
      pageP99: percentile(read, 0.99),
    };
    samples.push(sample);
    lab.say(
      `runs round ${round + 1}/${lab.lengths.rounds}: a chat call ${short(sample.chatP50)} ms, a run ` +
        `${short(sample.runP50)} ms, a response ${short(sample.plainP50)} ms, one with a tool ` +
        `${short(sample.toolP50)} ms, a page ${short(sample.pageP50)} ms`,
    );
  }
  await gateway.running.end();
  return samples;
}

const headers = { ...adminHeaders, 'x-gateway-virtual-key': 'plain' };

async function post({ origin }: GatewayProcess, path: string, body: object): Promise<{ id: string }> {
  const response = await fetch(`${origin}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as { id: string };
}

/** Chat calls and runs take turns, so that whatever slows the machine slows both. */
async function rounds(gateway: GatewayProcess, assistantId: string, count: number) {
  const chats: number[] = [];
  const runs: number[] = [];
  for (let number = 0; number < count; number++) {
    chats.push(await timed(gateway, CHAT, streamRequest(CHUNKS, 0), 'data: [DONE]\n\n'));
    const thread = await post(gateway, '/v1/threads', { messages: [{ role: 'user', content: `Hello ${number}` }] });
    const body = JSON.stringify({ assistant_id: assistantId, stream: true });
    runs.push(await timed(gateway, `/v1/threads/${thread.id}/runs`, body, 'event: done\ndata: [DONE]\n\n'));
  }
  return { chats, runs };
}

const SEARCHING = 'searching';

/** A vector store of one small file, and a model that searches it. */
async function smallStore(gateway: GatewayProcess, lab: Lab): Promise<string> {
  await createVirtualKey(gateway.origin, SEARCHING, `${lab.upstream.url}/searching/v1`, 'groq');
  const form = new FormData();
  form.set('purpose', 'assistants');
  form.set('file', new File(['The harbour of the town lies in the west.'], 'town.txt'));
  const { 'content-type': _, ...own } = headers as Record<string, string>;
  const sent = await fetch(`${gateway.origin}/v1/files`, { method: 'POST', headers: own, body: form });
  const file = (await sent.json()) as { id: string };
  const { id } = await post(gateway, '/v1/vector_stores', { file_ids: [file.id] });
  for (;;) {
    const response = await fetch(`${gateway.origin}/v1/vector_stores/${id}`, { headers });
    if (((await response.json()) as { status: string }).status === 'completed') return id;
    await Bun.sleep(50);
  }
}

/** Responses with and without a tool take turns. */
async function responses(gateway: GatewayProcess, storeId: string, count: number) {
  const plain: number[] = [];
  const withTool: number[] = [];
  const tools = [{ type: 'file_search', vector_store_ids: [storeId] }];
  for (let number = 0; number < count; number++) {
    const body = { model: 'gpt-4o-mini', input: `Where is the harbour? ${number}` };
    plain.push(await respond(gateway, body, false));
    withTool.push(await respond(gateway, { ...body, tools }, true));
  }
  return { plain, withTool };
}

async function respond({ origin }: GatewayProcess, body: object, isSearched: boolean): Promise<number> {
  const began = performance.now();
  const response = await fetch(`${origin}/v1/responses`, {
    method: 'POST',
    headers: { ...headers, 'x-gateway-virtual-key': SEARCHING },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  const ms = performance.now() - began;
  if (!response.ok || text.includes('file_search_call') !== isSearched)
    throw new Error(`/v1/responses answered ${response.status}: ${text.slice(-500)}`);
  return ms;
}

async function timed({ origin }: GatewayProcess, path: string, body: string, ending: string): Promise<number> {
  const began = performance.now();
  const response = await fetch(`${origin}${path}`, { method: 'POST', headers, body });
  const text = await response.text();
  const ms = performance.now() - began;
  const isGood = response.ok && text.endsWith(ending) && !text.includes('thread.run.failed');
  if (!isGood) throw new Error(`${path} answered ${response.status}: ${text.slice(-500)}`);
  return ms;
}

/** A request takes some thousand messages, so a thread of more is filled by runs, which look at the last one alone. */
async function longThread(gateway: GatewayProcess, assistantId: string): Promise<string> {
  const messages = (from: number) =>
    Array.from({ length: AT_ONCE }, (_, index) => ({
      role: index % 2 === 0 ? 'user' : 'assistant',
      content: `Message ${from + index} of a conversation that goes on and on, about nothing in particular.`,
    }));
  const { id } = await post(gateway, '/v1/threads', { messages: messages(0) });
  for (let from = AT_ONCE; from < THREAD_LENGTH; from += AT_ONCE) {
    const run = {
      ...{ assistant_id: assistantId, stream: true, additional_messages: messages(from) },
      truncation_strategy: { type: 'last_messages', last_messages: 1 },
    };
    await timed(gateway, `/v1/threads/${id}/runs`, JSON.stringify(run), 'event: done\ndata: [DONE]\n\n');
  }
  return id;
}

/** From its newest message on, each page behind the one before; from the beginning again when it is read. */
async function pages({ origin }: GatewayProcess, threadId: string, count: number): Promise<number[]> {
  const took: number[] = [];
  let after = '';
  for (let number = 0; number < count; number++) {
    const query = after && `&after=${after}`;
    const began = performance.now();
    const response = await fetch(`${origin}/v1/threads/${threadId}/messages?limit=${PAGE}${query}`, { headers });
    const page = (await response.json()) as { data: unknown[]; last_id: string; has_more: boolean };
    took.push(performance.now() - began);
    if (page.data?.length !== PAGE) throw new Error(`a page answered ${response.status}: ${JSON.stringify(page)}`);
    after = page.has_more ? page.last_id : '';
  }
  return took;
}
