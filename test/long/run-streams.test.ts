import { expect, test } from 'bun:test';
import { checkGrammar, eventsIn } from '../assistants/grammar.ts';
import { ADMIN_KEY } from '../gateway.ts';
import { startNode } from '../nodes.ts';
import { createDatabase } from '../postgres.ts';
import { megabytes, mostMemoryDuring, startProcess, startSimulator } from '../process.ts';
import { isComplete, openSocket, type RawExchange, requestText } from '../socket.ts';

const RUNS = 1_000;
/** What all of them together may take beyond an idle gateway: the pieces of their answers, and a connection each way. */
const MOST_GROWTH = 400e6;
const TALK = 'Talk. [[simulate: chunk-delay=1500, length=50]]';
/** So many begin at once: neither side's queue of connections takes a thousand. */
const WAVE = 50;
const LIMIT_MS = 240_000;
const headers = { 'x-gateway-api-key': ADMIN_KEY, 'x-gateway-virtual-key': 'sim' };

/** What was sent in chunks, without their sizes. */
function bodyOf(received: string): string {
  const bytes = Buffer.from(received, 'latin1');
  const pieces: Buffer[] = [];
  for (let at = bytes.indexOf('\r\n\r\n') + 4; ; ) {
    const end = bytes.indexOf('\r\n', at);
    const size = Number.parseInt(bytes.toString('latin1', at, end), 16);
    if (!(size > 0)) return Buffer.concat(pieces).toString();
    pieces.push(bytes.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
}

/** Resolves when a worker has begun the run. */
async function begin(url: string, assistantId: string): Promise<RawExchange> {
  const exchange = openSocket(url);
  const thread = { messages: [{ role: 'user', content: TALK }] };
  const body = JSON.stringify({ assistant_id: assistantId, stream: true, thread });
  exchange.socket.write(
    requestText('POST', '/v1/threads/runs', { ...headers, 'content-type': 'application/json' }, body),
  );
  await exchange.until((received) => received.includes('thread.run.in_progress'), LIMIT_MS);
  return exchange;
}

async function all(url: string, assistantId: string): Promise<string[]> {
  const exchanges: RawExchange[] = [];
  while (exchanges.length < RUNS)
    exchanges.push(...(await Promise.all(Array.from({ length: WAVE }, () => begin(url, assistantId)))));
  return Promise.all(exchanges.map((exchange) => exchange.until(isComplete, LIMIT_MS)));
}

for (const engine of ['sqlite', 'postgres'] as const)
  test(`${RUNS} runs stream at once on one process with ${engine}, each to its end and in order`, async () => {
    const gateway = engine === 'postgres' ? await startNode(await createDatabase()) : await startProcess();
    const simulator = await startSimulator();
    let together = 0;
    const counting = setInterval(async () => {
      const { open } = await simulator.stats();
      together = Math.max(together, open);
    }, 250);
    try {
      await gateway.given.virtualKey(simulator.url);
      const { id } = (await gateway.api.post('/v1/assistants', { model: 'gpt-5' }, { headers })).json;
      const idle = gateway.memory();
      const startedAt = performance.now();

      const streams = all(gateway.url, id);
      const growth = (await mostMemoryDuring(gateway, streams)) - idle;

      const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
      for (const received of await streams) {
        const events = eventsIn(bodyOf(received));
        checkGrammar(events, 'create-thread');
        const { event, data } = events.at(-1)!;
        expect([event, data.last_error]).toEqual(['thread.run.completed', null]);
      }
      console.log(`  ${together} at once, all done after ${seconds} s, memory grew by ${megabytes(growth)} MB`);
      expect(together).toBe(RUNS);
      expect(growth).toBeLessThan(MOST_GROWTH);
      expect(gateway.errors).toBe('');
    } finally {
      clearInterval(counting);
      await gateway.stop();
      await simulator.stop();
    }
  }, 600_000);
