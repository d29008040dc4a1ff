import { beforeAll, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ADMIN_KEY } from '../gateway.ts';
import { commands, eventually, megabytes, root, startProcess, startSimulator } from '../process.ts';
import { openSocket, streamRequest } from '../socket.ts';

const STREAMS = 1_000;

/** What the container runs, as if this folder were the container's; bin/gateway while there is no container. */
function containerCommand(): readonly string[] {
  const file = join(root, 'Dockerfile');
  if (!existsSync(file)) return commands.bin;
  const text = readFileSync(file, 'utf8');
  const folder = [...text.matchAll(/^WORKDIR\s+(\S+)/gm)].at(-1)?.[1] ?? '/';
  const words = (name: string): string[] =>
    JSON.parse([...text.matchAll(new RegExp(`^${name}\\s+(\\[.*\\])`, 'gm'))].at(-1)?.[1] ?? '[]');
  return [...words('ENTRYPOINT'), ...words('CMD')].map((word, index) => {
    const here = word.startsWith(`${folder}/`) ? join(root, word.slice(folder.length)) : word;
    const inside = join(root, here);
    return !here.startsWith('/') && existsSync(inside) && (index === 0 || here.includes('/')) ? inside : here;
  });
}

beforeAll(async () => {
  const build = Bun.spawn(['npm', 'run', 'build'], { cwd: root, stdout: 'ignore', stderr: 'pipe' });
  const errors = await build.stderr.text();
  if ((await build.exited) !== 0) throw new Error(`npm run build failed: ${errors}`);
}, 120_000);

for (const [name, command] of [
  ['npm start', commands.npm],
  ['the executable, from another folder', commands.executable],
  ["the container's command", containerCommand()],
] as const) {
  test(`${STREAMS} streams run at once through ${name}`, async () => {
    const simulator = await startSimulator();
    const gateway = await startProcess({ command });
    try {
      await gateway.given.virtualKey(simulator.url);
      const startedAt = performance.now();
      const exchanges = Array.from({ length: STREAMS }, () => {
        const exchange = openSocket(gateway.url);
        exchange.socket.write(streamRequest(ADMIN_KEY, 'stall=after:2'));
        return exchange;
      });

      await Promise.all(exchanges.map((exchange) => exchange.until((received) => received.includes('data: '), 60_000)));

      console.log(`  all ${STREAMS} moving after ${Math.round(performance.now() - startedAt)} ms`);
      if (command !== commands.npm) console.log(`  memory ${megabytes(gateway.memory())} MB`);
      expect((await simulator.stats()).open).toBe(STREAMS);
      // The log works in a thread of its own, which an executable has to find inside itself.
      const id = /^x-gateway-request-id: *(\S+)/im.exec(exchanges[0]!.received)?.[1];
      for (const { socket } of exchanges) socket.destroy();
      await eventually('every call to the provider has ended', async () => (await simulator.stats()).open === 0);
      await eventually('it is logged', async () => (await gateway.api.get(`/v1/logs/${id}`)).status === 200);
      expect(gateway.errors).toBe('');
    } finally {
      await gateway.stop();
      await simulator.stop();
    }
  }, 120_000);
}
