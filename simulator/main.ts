import { createSimulator } from './simulator.ts';
import { asksForSocket, openSocket, type SimulatedSocket, simulatedSockets } from './sockets.ts';

const simulator = createSimulator();

const server = Bun.serve<SimulatedSocket>({
  hostname: process.env.HOST ?? '127.0.0.1',
  port: Number(process.env.PORT ?? 8788),
  // A stalled answer is meant to last, and /sink takes what it is given.
  idleTimeout: 0,
  maxRequestBodySize: Number.MAX_SAFE_INTEGER,
  development: false,
  websocket: simulatedSockets,
  fetch(request, bun) {
    if (asksForSocket(request)) return openSocket(request, bun);
    if (request.method === 'GET' && new URL(request.url).pathname === '/stats') {
      return Response.json(
        { open: simulator.open, aborted: simulator.aborted },
        { headers: { 'x-simulated': 'true' } },
      );
    }
    return simulator.simulate(request);
  },
});

console.log(`Simulated providers at ${server.url}`);

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => server.stop(true).then(() => process.exit(0)));
}
