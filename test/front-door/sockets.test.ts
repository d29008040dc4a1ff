import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { ADMIN_KEY, startGateway, type TestGateway } from '../gateway.ts';
import { startRecorder } from '../recorder.ts';
import { openSocket, requestText } from '../socket.ts';

/** Requests that ask to go on as a WebSocket, as a client's bare handshake. */
let gateway: TestGateway;
let provider: ReturnType<typeof startRecorder>;
beforeAll(async () => {
  gateway = await startGateway();
  provider = startRecorder();
  await gateway.given.virtualKey({ slug: 'recorded', custom_host: provider.origin });
});
afterAll(async () => {
  provider.stop();
  await gateway.stop();
});

const HANDSHAKE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

async function answerTo(path: string, headers: Record<string, string>): Promise<string> {
  const exchange = openSocket(gateway.url);
  exchange.socket.write(requestText('GET', path, headers));
  const answer = await exchange.until((text) => text.includes('\r\n\r\n'));
  exchange.socket.destroy();
  return answer;
}

describe('a WebSocket where none is served', () => {
  const PATHS = [
    '/',
    '/health',
    '/console/',
    '/v1/models',
    '/v1/chat/completions',
    '/v1/proxy/anything',
    '/v1/virtual-keys',
    '/some-server/mcp',
    '/nowhere',
    '/v1/../%zz',
  ];
  const keyed = { 'x-gateway-api-key': ADMIN_KEY, 'x-gateway-virtual-key': 'recorded' };

  test.each(PATHS)('is refused at %s with 426, with a key and without, and no provider hears of it', async (path) => {
    for (const headers of [HANDSHAKE, { ...HANDSHAKE, ...keyed }]) {
      const answer = await answerTo(path, headers);
      expect(answer).toStartWith('HTTP/1.1 426 ');
      expect(answer.toLowerCase()).toContain('\r\nupgrade: websocket\r\n');
      expect(answer).toContain('"upgrade_not_served"');
    }
    expect(provider.requests).toBeEmpty();
  });

  test('is one however its name is written, and among other protocols', async () => {
    for (const upgrade of ['WebSocket', 'h2c, websocket', 'websocket/13'])
      expect(await answerTo('/v1/models', { ...HANDSHAKE, upgrade })).toStartWith('HTTP/1.1 426 ');
  });

  test('is told apart from other protocols that a client offers to change to', async () => {
    const answer = await answerTo('/health', { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c' });
    expect(answer).toStartWith('HTTP/1.1 200 ');
  });
});
