import { expect, test } from 'bun:test';
import { openSocket, requestText } from '../../test/socket.ts';
import { listen } from './server.ts';

test('a connection is closed when it idles after its request, and never while the request goes on', async () => {
  const server = listen({
    host: '127.0.0.1',
    port: 0,
    idleSeconds: 1,
    answer: async (request, _address, connection) => {
      if (request.url.endsWith('/slow')) await Bun.sleep(9_000);
      connection.ended(request, 'whole');
      return new Response('answered');
    },
    refuse: () => new Response(null, { status: 503 }),
  });
  const [quick, slow] = ['/quick', '/slow'].map((path) => {
    const exchange = openSocket(server.url);
    exchange.socket.write(requestText('GET', path));
    return exchange;
  });
  await quick!.over;
  expect(quick!.received).toContain('answered');
  expect(slow!.isOver).toBe(false);
  await slow!.until((text) => text.includes('answered'));
  slow!.socket.destroy();
  await server.stop(0);
});
