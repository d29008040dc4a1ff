/**
 * What a relay in Bun costs that does nothing beside: the gateway's own HTTP client behind `Bun.serve`, no keys, no plan, no
 * log. What the gateway takes beyond it is the gateway; what this takes beyond nginx is Bun.
 */
import { createUpstream } from '../../src/http/upstream.ts';

const [port, upstreamUrl] = Bun.argv.slice(2) as [string, string];
const timeouts = { connectMs: 5_000, firstByteMs: 60_000, idleMs: 60_000, totalMs: 0 };
const upstream = createUpstream({ egress: { admit: () => ({ origin: upstreamUrl }) } });
const headers = () => new Headers({ 'content-type': 'application/json', authorization: 'Bearer sk-bench' });

Bun.serve({
  hostname: '127.0.0.1',
  port: Number(port),
  idleTimeout: 240,
  async fetch(request, server) {
    const { pathname } = new URL(request.url);
    if (pathname === '/ready') return new Response();
    server.timeout(request, 0);
    const body = await request.bytes();
    const url = `${upstreamUrl}${pathname}`;
    const incoming = await upstream.send({ method: request.method, url, headers: headers(), body, timeouts });
    const type = incoming.headers.get('content-type') ?? '';
    const init = { status: incoming.status, headers: { 'content-type': type } };
    if (!type.startsWith('text/event-stream')) return new Response(await incoming.bytes(), init);
    const stream = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          const piece = await incoming.read();
          if (piece === null) controller.close();
          else controller.enqueue(piece);
        },
        cancel: () => incoming.cancel(),
      },
      { highWaterMark: 0 },
    );
    return new Response(stream, init);
  },
});
