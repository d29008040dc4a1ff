import { afterEach, describe, expect, test } from 'bun:test';
import { ADMIN_KEY, startGateway, type TestGateway } from '../../gateway.ts';
import { eventually } from '../../process.ts';
import { openSocket, streamRequest } from '../../socket.ts';

/** One address opens more than its share. */

const MOST = 5;
let gateway: TestGateway;
afterEach(() => gateway.stop());

const held = (from?: string) => {
  const exchange = openSocket(gateway.url);
  exchange.socket.write(
    streamRequest(ADMIN_KEY, 'stall=after:1').replace('\r\n\r\n', from ? `\r\nx-client: ${from}\r\n\r\n` : '\r\n\r\n'),
  );
  return exchange;
};

describe('an address that has as many requests under way as it may', () => {
  test('is refused before any work, until one of them has ended', async () => {
    gateway = await startGateway({ environment: { GATEWAY_CONNECTIONS_PER_ADDRESS: String(MOST) } });
    const open = Array.from({ length: MOST }, () => held());
    await eventually('all are with the provider', async () => gateway.provider.calls >= MOST);
    const refused = await gateway.api.get('/health');
    expect([refused.status, refused.json.error.code]).toEqual([429, 'too_many_connections']);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(refused.headers.get('x-gateway-request-id')).toBeString();
    for (const { socket } of open) socket.destroy();
    await eventually('the address is let in again', async () => (await gateway.api.get('/health')).status === 200);
    expect((await gateway.api.get('/metrics')).text).toMatch(/^gateway_requests_turned_away_total [1-9]/m);
  });

  test('is the client behind a trusted proxy, not the proxy; one network of IPv6 is one client', async () => {
    gateway = await startGateway({
      environment: { GATEWAY_CONNECTIONS_PER_ADDRESS: String(MOST), GATEWAY_CLIENT_IP_HEADER: 'x-client' },
    });
    const open = Array.from({ length: MOST }, (_, number) => held(`2001:db8:1:2::${number + 1}`));
    await eventually('all are with the provider', async () => gateway.provider.calls >= MOST);
    const asked = async (address: string) =>
      (await gateway.api.get('/health', { headers: { 'x-client': address } })).status;
    expect(await asked('2001:db8:1:2::ffff')).toBe(429);
    expect(await asked('2001:db8:1:3::1')).toBe(200);
    expect(await asked('192.0.2.1')).toBe(200);
    for (const { socket } of open) socket.destroy();
  });
});

test('requests that end, well or badly, do not count: an address may have many one after the other', async () => {
  gateway = await startGateway({ environment: { GATEWAY_CONNECTIONS_PER_ADDRESS: '2' } });
  const chat = { model: 'any', messages: [{ role: 'user', content: 'Hello' }] };
  const sim = { headers: { 'x-gateway-virtual-key': 'sim' } };
  for (let round = 0; round < 5; round++) {
    expect((await gateway.api.get('/nowhere')).status).toBe(404);
    expect((await gateway.api.post('/v1/api-keys', {}, { key: 'gw-nobody' })).status).toBe(401);
    expect((await gateway.api.post('/v1/chat/completions', chat, sim)).status).toBe(200);
    expect((await gateway.api.post('/v1/chat/completions', { ...chat, stream: true }, sim)).status).toBe(200);
  }
});
