import { Database } from 'bun:sqlite';
import { cpSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { eventually, type GatewayProcess, newDataDir, removeDataDir, startProcess } from './process.ts';

const viaSim = { 'x-gateway-virtual-key': 'sim' };
const hello = { model: 'any', messages: [{ role: 'user', content: 'Hello' }] };

/** Calls models and makes keys until told to stop, and remembers which keys the gateway said it had made. */
function load({ api }: GatewayProcess) {
  const acknowledged: string[] = [];
  let isOver = false;
  const run = async (work: () => Promise<unknown>) => {
    // What is under way when the process dies fails, as it must.
    while (!isOver) await work().catch(() => Bun.sleep(5));
  };
  const workers = [
    ...Array.from({ length: 8 }, () => run(() => api.post('/v1/chat/completions', hello, { headers: viaSim }))),
    ...Array.from({ length: 2 }, () =>
      run(async () => {
        const reply = await api.post('/v1/api-keys', { name: 'made under load', defaults: { virtual_key: 'sim' } });
        if (reply.status === 200) acknowledged.push(reply.json.key);
      }),
    ),
  ];
  return {
    acknowledged,
    stop: () => {
      isOver = true;
      return Promise.all(workers);
    },
  };
}

/** Starts a gateway on that data dir, kills it while it works, and answers the keys it had acknowledged. */
export async function killUnderLoad(dataDir: string, providerUrl: string): Promise<string[]> {
  const gateway = await startProcess({ dataDir });
  const isFirst = (await gateway.api.get('/v1/virtual-keys/sim')).status === 404;
  if (isFirst) await gateway.given.virtualKey(providerUrl);
  const loading = load(gateway);
  await eventually('keys are being made', () => loading.acknowledged.length >= 5);
  await gateway.kill();
  await loading.stop();

  // On a copy, so that it is the gateway that recovers the original.
  const copy = newDataDir();
  cpSync(gateway.dataDir, copy, { recursive: true });
  const states = Object.values(integrityIn(copy));
  removeDataDir(copy);
  if (states.some((state) => state !== 'ok')) throw new Error(`a database is damaged: ${states.join()}`);
  return loading.acknowledged;
}

/** What SQLite says of each of its files in that folder. */
export function integrityIn(folder: string): Record<string, unknown> {
  const files = readdirSync(folder).filter((name) => name.endsWith('.db'));
  return Object.fromEntries(
    files.map((name) => {
      const database = new Database(join(folder, name));
      const result = database.query('PRAGMA integrity_check').get() as { integrity_check: unknown };
      database.close();
      return [name, result.integrity_check];
    }),
  );
}
