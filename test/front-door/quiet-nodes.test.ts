import { expect, test } from 'bun:test';
import { createSimulator } from '../../simulator/simulator.ts';
import { serve } from '../gateway.ts';
import { startNode } from '../nodes.ts';
import { createDatabase } from '../postgres.ts';
import { eventually } from '../process.ts';

/** Until a node is quiet that no caller asks anything of, and longer. */
const QUIET_MS = 15_000;
/** Its lease ends, and a quiet node looks every ten seconds; the rest is for a busy machine. */
const TAKEN_OVER_MS = 180_000;

test('what a node leaves when it is killed is taken over by one that no caller asks anything of', async () => {
  const simulator = createSimulator();
  let calls = 0;
  const provider = serve((request) => (++calls === 1 ? new Promise<Response>(() => {}) : simulator.simulate(request)));
  const databaseUrl = await createDatabase();
  const [one, two] = await Promise.all([startNode(databaseUrl), startNode(databaseUrl)]);
  await one.given.virtualKey(`${provider.origin}/v1`, 'sim', 'groq');
  await Bun.sleep(QUIET_MS);

  const viaSim = { headers: { 'x-gateway-virtual-key': 'sim' } };
  const begun = await one.api.post('/v1/responses', { model: 'any', input: 'Hello', background: true }, viaSim);
  expect([begun.status, begun.json.status]).toEqual([200, 'queued']);
  await eventually('the provider is asked', () => calls === 1);
  await one.kill();
  await eventually('the provider is asked again', () => calls === 2, TAKEN_OVER_MS);

  await eventually(
    'the response is whole',
    async () => (await two.api.get(`/v1/responses/${begun.json.id}`, viaSim)).json.status === 'completed',
  );
  expect(calls).toBe(2);
  await two.kill();
  provider.stop();
}, 300_000);
