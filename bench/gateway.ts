import { join } from 'node:path';
import type { Lab } from './lab.ts';
import { freePort, type Running, untilAnswers } from './processes.ts';

const ADMIN_KEY = 'bench-admin-key-0123456789';

export const CHAT = '/v1/chat/completions';
export const json = { 'content-type': 'application/json' };
export const adminHeaders = { ...json, 'x-gateway-api-key': ADMIN_KEY };

export interface GatewayProcess {
  readonly origin: string;
  readonly running: Running;
  readonly readyAfterMs: number;
}

export interface GatewayOptions {
  readonly dataFolder?: string;
  readonly core?: number | undefined;
  readonly environment?: Record<string, string>;
}

/** Starts the gateway and waits until it is ready, and no longer. */
export async function spawnGateway(
  lab: Lab,
  { dataFolder = join(lab.folder, `data-${freePort()}`), core, environment = {} }: GatewayOptions = {},
): Promise<GatewayProcess> {
  const port = freePort();
  const origin = `http://127.0.0.1:${port}`;
  const spawnedAt = performance.now();
  const running = lab.processes.start({
    name: 'gateway',
    command: [lab.gateway.entry],
    cwd: lab.gateway.root,
    env: {
      HOST: '127.0.0.1',
      PORT: String(port),
      GATEWAY_DATA_DIR: dataFolder,
      GATEWAY_ADMIN_KEY: ADMIN_KEY,
      TRUSTED_CUSTOM_HOSTS: '127.0.0.1,localhost',
      ...environment,
    },
    core,
  });
  await untilAnswers(`${origin}/ready`, running, 2);
  return { origin, running, readyAfterMs: performance.now() - spawnedAt };
}

/** What a gateway on PostgreSQL is told beside. */
export const onPostgres = (databaseUrl: string): Record<string, string> => ({
  DATABASE_URL: databaseUrl,
  GATEWAY_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
});

/** Creates something as the admin. */
export async function create(origin: string, path: string, what: object): Promise<Record<string, unknown>> {
  const created = await fetch(`${origin}${path}`, {
    method: 'POST',
    headers: adminHeaders,
    body: JSON.stringify(what),
  });
  const text = await created.text();
  if (!created.ok) throw new Error(`the gateway refused ${path} of the bench with ${created.status}: ${text}`);
  return JSON.parse(text);
}

/** A stored credential for one of the bench's upstreams; calls name it by its slug. */
export async function createVirtualKey(
  origin: string,
  slug: string,
  customHost: string,
  provider = 'openai',
): Promise<void> {
  await create(origin, '/v1/virtual-keys', { name: slug, slug, provider, key: 'sk-bench', custom_host: customHost });
}
