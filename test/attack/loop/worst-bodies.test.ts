import { afterAll, beforeAll, expect, test } from 'bun:test';
import { guardrailAttacks, modelCallAttacks, ownRouteAttacks } from '../../loop/attacks.ts';
import { type Driving, startDriving } from '../../loop/drive.ts';

/** Some of what `test/long/loop.test.ts` sends, at every route. */
let driving: Driving;
beforeAll(async () => {
  driving = await startDriving();
});
afterAll(() => driving.stop());

/** No client waits longer for another client's body, in milliseconds of processor time. */
const MOST_MS = 80;
const MOST_GUARDED_MS = 100;

test('no body that a route of ours checks holds the event loop up', async () => {
  const description = (await driving.gateway.api.get('/openapi.json')).json;
  const attacks = [...ownRouteAttacks(description, { share: 1 / 101 })];
  expect(attacks.length).toBeGreaterThan(200);
  expect(await driving.faultsOf(attacks, MOST_MS)).toEqual([]);
});

test('no call of a model holds the event loop up, whether it passes or is translated', async () => {
  expect(await driving.faultsOf(modelCallAttacks({ share: 1 / 53 }), MOST_MS)).toEqual([]);
});

test('no call that guardrails read holds the event loop up, however many checks look at however much', async () => {
  expect(await driving.faultsOf(guardrailAttacks({ share: 1 / 29 }), MOST_GUARDED_MS)).toEqual([]);
});

test('other calls are answered while a thread looks at a text for a long time', async () => {
  const config = {
    virtual_key: 'openai',
    input_guardrails: [{ 'default.regexReplace': { rule: 'a(?:.*b)?', redactText: 'c' } }],
  };
  let isOver = false;
  const long = driving.gateway.api
    .call('POST', '/v1/chat/completions', {
      headers: { 'content-type': 'application/json', 'x-gateway-config': JSON.stringify(config) },
      body: `{"model":"m","messages":[{"role":"user","content":"${'a'.repeat(100_000)}"}]}`,
    })
    .finally(() => {
      isOver = true;
    });
  let answered = 0;
  while (!isOver) {
    expect((await driving.gateway.api.get('/health')).status).toBe(200);
    if (!isOver) answered++;
  }
  expect((await long).text).toContain('took more than 1000 ms');
  expect(answered).toBeGreaterThan(5);
});
