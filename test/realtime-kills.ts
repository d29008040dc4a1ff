import { expect } from 'bun:test';
import { startProvider } from './gateway.ts';
import { type Live, openLive } from './live-client.ts';
import { forTests, type GatewayProcess, newDataDir, removeDataDir, startProcess } from './process.ts';

const MANY = 1_000_000;

interface Counts {
  /** Responses that were asked for. */
  asked: number;
  /** Responses that the provider has begun. */
  begun: number;
}

/**
 * Conversations on a gateway that is killed now and then, each time while all of them have a response under way. Every response
 * that the provider has begun is counted, and none twice: also those that had ended, and those that died.
 */
export async function killedConversations({ sessions, kills }: { sessions: number; kills: number }): Promise<void> {
  const dataDir = newDataDir();
  const provider = startProvider();
  let gateway = await startProcess({ dataDir, environment: forTests });
  await gateway.given.virtualKey(provider.url, 'vendor');
  const limit = { rate_limits: [{ type: 'requests', unit: 'rpw', value: MANY }], defaults: { virtual_key: 'vendor' } };
  const { key } = (await gateway.api.post('/v1/api-keys', { name: 'counted', ...limit })).json;
  const counts: Counts = { asked: 0, begun: 0 };
  const perRound = Math.ceil(sessions / kills);
  for (let round = 0; round < kills; round++) {
    const lives = await Promise.all(Array.from({ length: perRound }, () => converse(gateway, key)));
    await Promise.all(lives.map((live) => answered(live, counts)));
    for (const live of lives) ask(live, counts, 'Slow. [[simulate: length=100000, chunk-delay=50]]');
    await Promise.all(lives.map((live) => live.until('response.created')));
    counts.begun += lives.length;
    await gateway.kill();
    await Promise.all(lives.map(({ closed }) => closed));
    gateway = await startProcess({ dataDir, environment: forTests });
  }
  const last = await gateway.api.post(
    '/v1/chat/completions',
    { model: 'm', messages: [{ role: 'user', content: 'Hi' }] },
    { key },
  );
  const counted = MANY - Number(last.headers.get('x-ratelimit-remaining-requests')) - 1;
  expect(counts.begun).toBe(counts.asked);
  expect(counted).toBe(counts.begun);
  await gateway.stop();
  provider.stop();
  removeDataDir(dataDir);
}

async function converse({ url }: GatewayProcess, key: string): Promise<Live> {
  const live = await openLive(url, { key, path: '/v1/realtime?model=gpt-realtime' });
  await live.until('session.created');
  return live;
}

function ask(live: Live, counts: Counts, text: string): void {
  const content = [{ type: 'input_text', text }];
  live.send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } });
  live.send({ type: 'response.create' });
  counts.asked++;
}

async function answered(live: Live, counts: Counts): Promise<void> {
  ask(live, counts, 'Hello');
  expect((await live.end()).at(-1).type).toBe('response.done');
  counts.begun++;
}
