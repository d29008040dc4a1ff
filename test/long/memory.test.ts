import { expect, test } from 'bun:test';
import { ADMIN_KEY } from '../gateway.ts';
import { megabytes, mostMemoryDuring, startProcess, startSimulator } from '../process.ts';
import { openSocket, requestText, uploadBytes } from '../socket.ts';

const SIZE = 200_000_000;
const RATE = 20_000_000;
const viaSim = { 'x-gateway-virtual-key': 'sim' };

async function given() {
  const simulator = await startSimulator();
  const gateway = await startProcess();
  await gateway.given.virtualKey(simulator.url);
  for (let call = 0; call < 50; call++) await gateway.api.get('/v1/models', { headers: viaSim });
  return { simulator, gateway, before: gateway.memory() };
}

test('200 MB to a client that reads slowly do not pile up in the gateway', async () => {
  const { simulator, gateway, before } = await given();
  try {
    const exchange = openSocket(gateway.url);
    const head = { ...viaSim, 'x-gateway-api-key': ADMIN_KEY, connection: 'close' };
    exchange.socket.write(requestText('GET', `/v1/bytes/${SIZE}`, head));
    const startedAt = performance.now();
    const reading = (async () => {
      while (!exchange.isOver) {
        const isAhead = exchange.receivedBytes > ((performance.now() - startedAt) / 1_000) * RATE;
        if (isAhead) exchange.socket.pause();
        else exchange.socket.resume();
        await Bun.sleep(5);
      }
    })();

    const growth = megabytes((await mostMemoryDuring(gateway, reading)) - before);

    console.log(`  ${megabytes(exchange.receivedBytes)} MB read in ${Math.round(performance.now() - startedAt)} ms`);
    console.log(`  growth at most ${growth} MB over ${megabytes(before)} MB`);
    expect(exchange.receivedBytes).toBeGreaterThan(SIZE);
    expect(growth).toBeLessThan(60);
  } finally {
    await gateway.stop();
    await simulator.stop();
  }
}, 120_000);

test('200 MB to a provider that reads slowly do not pile up in the gateway', async () => {
  const { simulator, gateway, before } = await given();
  try {
    const startedAt = performance.now();
    const upload = uploadBytes(gateway.url, `/v1/sink?rate=${RATE}`, SIZE);

    const growth = megabytes((await mostMemoryDuring(gateway, upload)) - before);

    console.log(`  ${megabytes(SIZE)} MB sent in ${Math.round(performance.now() - startedAt)} ms`);
    console.log(`  growth at most ${growth} MB over ${megabytes(before)} MB`);
    expect(await upload).toContain(`{"bytes":${SIZE}}`);
    expect(growth).toBeLessThan(60);
  } finally {
    await gateway.stop();
    await simulator.stop();
  }
}, 120_000);
