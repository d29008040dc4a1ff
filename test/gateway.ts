import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSimulator, type Simulator } from '../simulator/simulator.ts';
import { asksForSocket, openSocket, type SimulatedSocket, simulatedSockets } from '../simulator/sockets.ts';
import { readSettings } from '../src/settings.ts';
import { start } from '../src/start.ts';
import { createDatabase, finishDatabase } from './postgres.ts';
import { layEmptyFiles } from './sqlite-files.ts';

export const ADMIN_KEY = 'gw-admin-key-for-tests-only';
const ENCRYPTION_KEY = Buffer.alloc(32, 1).toString('base64');

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was answered
  readonly json: any;
}

interface CallOptions {
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** A client that speaks as the admin unless told otherwise. Objects are sent as JSON, everything else as it is. */
export function client(url: string) {
  const call = async (
    method: string,
    path: string,
    { key = ADMIN_KEY, headers = {}, body }: CallOptions = {},
  ): Promise<Reply> => {
    const isJson =
      body !== null && typeof body === 'object' && !(body instanceof Uint8Array) && !(body instanceof FormData);
    const response = await fetch(url + path, {
      method,
      redirect: 'manual',
      headers: {
        ...(key !== null && { 'x-gateway-api-key': key }),
        ...(isJson && { 'content-type': 'application/json' }),
        ...headers,
      },
      body: isJson ? JSON.stringify(body) : (body as RequestInit['body']),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: parsed(text) };
  };
  return {
    call,
    get: (path: string, options?: CallOptions) => call('GET', path, options),
    post: (path: string, body?: unknown, options?: CallOptions) => call('POST', path, { body, ...options }),
    put: (path: string, body?: unknown, options?: CallOptions) => call('PUT', path, { body, ...options }),
    patch: (path: string, body?: unknown, options?: CallOptions) => call('PATCH', path, { body, ...options }),
    delete: (path: string, options?: CallOptions) => call('DELETE', path, options),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * Gives something an end that comes soon, and waits for that end. On a machine that stands still for a while it may lie
 * in the past when it arrives, which is refused; then a later one is given.
 */
export async function expired(give: (expires_at: string) => Promise<Reply>) {
  for (let aheadMs = 500; ; aheadMs *= 2) {
    const end = Date.now() + aheadMs;
    const { status, text } = await give(new Date(end).toISOString());
    if (status === 400 && text.includes('lies in the past')) continue;
    if (status !== 200) throw new Error(`An end was answered with ${status}: ${text}`);
    await Bun.sleep(Math.max(0, end - Date.now()) + 10);
    return;
  }
}

/** A server of a test's own making, on loopback. */
export function serve(answer: (request: Request) => Response | Promise<Response>, sockets = false) {
  const server = Bun.serve<SimulatedSocket>({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    fetch: (request, bun) => (sockets && asksForSocket(request) ? openSocket(request, bun) : answer(request)),
    websocket: simulatedSockets,
  });
  return { origin: `http://127.0.0.1:${server.port}`, stop: () => server.stop(true) };
}

export interface TestProvider {
  readonly origin: string;
  /** With the version segment, as a virtual key's custom_host. */
  readonly url: string;
  readonly simulator: Simulator;
  /** How many requests have reached it. */
  readonly calls: number;
  stop(): void;
}

/** The simulator as a provider on a socket of its own. */
export function startProvider(): TestProvider {
  const simulator = createSimulator();
  let calls = 0;
  const { origin, stop } = serve((request) => {
    calls++;
    return simulator.simulate(request);
  }, true);
  return {
    origin,
    url: `${origin}/v1`,
    simulator,
    get calls() {
      return calls;
    },
    stop,
  };
}

export interface StartOptions {
  readonly engine?: 'sqlite' | 'postgres';
  readonly environment?: Record<string, string>;
  readonly databaseUrl?: string;
  /** Kept when the gateway stops; without it the gateway gets a new one that goes with it. */
  readonly dataDir?: string;
  /** Optional areas that are left out. */
  readonly without?: readonly string[];
}

/** The real gateway on a free port, with an empty store of its own and a simulated provider behind a virtual key `sim`. */
export async function startGateway({
  engine = 'sqlite',
  environment = {},
  databaseUrl,
  dataDir: kept,
  without = [],
}: StartOptions = {}) {
  const dataDir = kept ?? mkdtempSync(join(tmpdir(), 'gateway-test-'));
  const provider = startProvider();
  const database = engine === 'postgres' ? (databaseUrl ?? (await createDatabase())) : null;
  if (!database && !existsSync(join(dataDir, 'state.db'))) await layEmptyFiles(dataDir);
  const settings = readSettings({
    PORT: '0',
    GATEWAY_DATA_DIR: dataDir,
    GATEWAY_ADMIN_KEY: ADMIN_KEY,
    GATEWAY_ENCRYPTION_KEY: ENCRYPTION_KEY,
    GATEWAY_SHUTDOWN_SECONDS: '1',
    TRUSTED_CUSTOM_HOSTS: '127.0.0.1',
    ...(database && { DATABASE_URL: database }),
    ...environment,
  });
  const gateway = await start(settings, { without });
  const { url } = gateway.server;
  const api = client(url);

  const made = async (path: string, body: Record<string, unknown>) => {
    const reply = await api.post(path, body);
    if (reply.status !== 200) throw new Error(`${path} answered ${reply.status}: ${reply.text}`);
    return reply.json;
  };
  const given = {
    workspace: (body: Record<string, unknown> = {}) => made('/v1/admin/workspaces', { name: 'Another', ...body }),
    apiKey: (body: Record<string, unknown> = {}) => made('/v1/api-keys', { name: 'test', ...body }),
    virtualKey: (body: Record<string, unknown> = {}) =>
      made('/v1/virtual-keys', {
        name: 'test',
        provider: 'openai',
        key: 'sk-test-credential',
        custom_host: provider.url,
        ...body,
      }),
  };
  // A second node on the same database finds it there.
  await given.virtualKey({ name: 'sim', slug: 'sim' }).catch((error: Error) => {
    if ((!databaseUrl && !kept) || !error.message.includes('slug_taken')) throw error;
  });

  /** The log entry of a reply, once it is there. */
  const logOf = async (reply: { headers: Headers }) => {
    const id = reply.headers.get('x-gateway-request-id');
    for (let attempt = 0; attempt < 3_000; attempt++) {
      const found = await api.get(`/v1/logs/${id}`);
      if (found.status === 200) return found.json;
      await Bun.sleep(20);
    }
    throw new Error(`no log entry ${id}`);
  };

  return {
    url,
    routes: gateway.routes,
    owners: gateway.owners,
    families: gateway.families,
    ownerLink: gateway.ownerLink,
    dataDir,
    databaseUrl: database,
    api,
    given,
    provider,
    logOf,
    stop: async () => {
      await gateway.stop();
      provider.stop();
      if (database && !databaseUrl) finishDatabase(database);
      if (!kept) rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

export type TestGateway = Awaited<ReturnType<typeof startGateway>>;
