import { afterAll, beforeAll, expect, test } from 'bun:test';
import { startGateway, type TestGateway } from '../gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.stop());

const viaSim = { 'x-gateway-virtual-key': 'sim' };

test('a call goes to the provider with the stored credential and without anything of ours', async () => {
  const reply = await gateway.api.post(
    '/v1/echo?b=2&a=1&b=3',
    { hello: 'world' },
    { headers: { ...viaSim, cookie: 'a=b', 'x-forwarded-for': '1.2.3.4', 'x-custom': 'kept' } },
  );

  expect(reply.status).toBe(200);
  expect(reply.json).toMatchObject({ method: 'POST', path: '/v1/echo', query: '?b=2&a=1&b=3' });
  expect(reply.json.headers).toMatchObject({ authorization: 'Bearer sk-test-credential', 'x-custom': 'kept' });
  const names = Object.keys(reply.json.headers);
  expect(
    names.filter((name) => name.startsWith('x-gateway-') || name === 'cookie' || name === 'x-forwarded-for'),
  ).toEqual([]);
});
