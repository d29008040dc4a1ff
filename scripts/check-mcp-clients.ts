/**
 * Holds the gateway between the official MCP clients and servers of several languages, and prints the table of
 * docs/mcp-clients.md. Not part of `npm test`, which runs the TypeScript part of it: it needs Python, Go, PyPI and the Go
 * module proxy.
 *
 *     bun scripts/check-mcp-clients.ts [folder of an earlier build]
 */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ADMIN_KEY } from '../test/gateway.ts';
import { allowing } from '../test/mcp/programs.ts';
import { forTests, newDataDir, removeDataDir, startProcess } from '../test/process.ts';

const GO_SDK = 'v1.8.0';
const PYTHON = { 'python-1': 'mcp==1.30.0', 'python-2': 'mcp==2.3.0', fastmcp: 'fastmcp==4.1.0' };
const root = join(import.meta.dir, '..');
const own = join(import.meta.dir, 'mcp-clients');
const given = process.argv[2];
const folder = given ?? mkdtempSync(join(tmpdir(), 'gateway-mcp-clients-'));
mkdirSync(folder, { recursive: true });

async function run(command: string[], cwd = folder) {
  const child = Bun.spawn(command, { cwd, stdout: 'inherit', stderr: 'inherit' });
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')} failed`);
}

for (const [name, requirement] of Object.entries(PYTHON)) {
  if (existsSync(join(folder, name, 'ready'))) continue;
  await run(['python3', '-m', 'venv', name]);
  await run([join(folder, name, 'bin', 'pip'), 'install', '-q', '--disable-pip-version-check', requirement]);
  writeFileSync(join(folder, name, 'ready'), '');
}
mkdirSync(join(folder, 'go'), { recursive: true });
copyFileSync(join(own, 'main.go'), join(folder, 'go', 'main.go'));
writeFileSync(
  join(folder, 'go', 'go.mod'),
  `module clients\n\ngo 1.25.0\n\nrequire github.com/modelcontextprotocol/go-sdk ${GO_SDK}\n`,
);
await run(['go', 'mod', 'tidy'], join(folder, 'go'));
await run(['go', 'build', '-o', 'clients', '.'], join(folder, 'go'));

const go = join(folder, 'go', 'clients');
const python = (name: string) => join(folder, name, 'bin', 'python');
const plain = join(root, 'test', 'mcp', 'plain-server.ts');
const bun = process.execPath;

/** What each kind of server is started with. A program is started by the gateway. */
const SERVERS: Readonly<Record<string, (port: string) => string[] | null>> = {
  'TypeScript 1.x, sessions': (port) => [bun, plain, 'sessions', port],
  'TypeScript 2.x, 2026-07-28': (port) => [bun, plain, 'stateless', port],
  FastMCP: (port) => [python('fastmcp'), join(own, 'server.py'), port],
  'Go SDK': (port) => [go, 'server', port],
  'a program (stdio)': () => null,
  'HTTP+SSE of 2024-11-05': (port) => [bun, plain, 'sse', port],
};
const slugOf = (kind: string) =>
  kind
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');

const CLIENTS: Readonly<Record<string, string[]>> = {
  'TypeScript 1.x': [bun, join(own, 'client.ts'), 'typescript-1'],
  'TypeScript 2.x': [bun, join(own, 'client.ts'), 'typescript-2'],
  'Python 1.x': [python('python-1'), join(own, 'client.py'), 'python-1'],
  'Python 2.x': [python('python-2'), join(own, 'client.py'), 'python-2'],
  FastMCP: [python('fastmcp'), join(own, 'client.py'), 'fastmcp'],
  'Go SDK': [go, 'client'],
};

async function reachable(url: string) {
  for (let attempt = 0; attempt < 600; attempt++) {
    try {
      await (await fetch(url, { signal: AbortSignal.timeout(5_000) })).body?.cancel();
      return;
    } catch {
      await Bun.sleep(100);
    }
  }
  throw new Error(`${url} did not start`);
}

/** A server at a port of its own, which it keeps when it is started again. */
async function startServer(kind: string) {
  const free = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() });
  const port = String(free.port);
  await free.stop(true);
  const command = SERVERS[kind]!(port);
  const url = `http://127.0.0.1:${port}/${kind.startsWith('HTTP+SSE') ? 'sse' : 'mcp'}`;
  const begin = async () => {
    if (!command) return null;
    const child = Bun.spawn(command, { stdout: 'ignore', stderr: 'ignore' });
    await reachable(url);
    return child;
  };
  let child = await begin();
  const stop = async () => {
    child?.kill('SIGKILL');
    await child?.exited;
  };
  return {
    url: command && url,
    stop,
    restart: async () => {
      await stop();
      child = await begin();
    },
  };
}

const STEP_MS = 120_000;

/** A client as a process, which does one step after the other. */
function startClient(command: string[]) {
  const child = Bun.spawn(command, { stdin: 'pipe', stdout: 'pipe', stderr: 'ignore', cwd: root });
  const reader = child.stdout.getReader();
  let heard = '';
  const next = async (): Promise<string> => {
    for (;;) {
      const line = /^> (.*)\n/m.exec(heard);
      if (line) {
        heard = heard.slice(heard.indexOf(line[0]) + line[0].length);
        return line[1]!;
      }
      const { value, done } = await reader.read();
      if (done) return 'FAILED: it ended';
      heard += new TextDecoder().decode(value);
    }
  };
  return {
    step: async (name: string): Promise<string> => {
      child.stdin.write(`${name}\n`);
      await child.stdin.flush();
      return Promise.race([next(), Bun.sleep(STEP_MS).then(() => 'FAILED: it took too long')]);
    },
    stop: async () => {
      child.kill('SIGKILL');
      await child.exited;
    },
  };
}

const dataDir = newDataDir();
const environment = {
  ...forTests,
  GATEWAY_DATA_DIR: join(dataDir, 'data'),
  PORT: '8799',
  TRUSTED_CUSTOM_HOSTS: '127.0.0.1',
  ...allowing({ command: bun, args: [plain, 'stdio'] }),
};
let gateway = await startProcess({ dataDir, environment });
const { url } = gateway;
const post = async (path: string, body: unknown, method: 'post' | 'put' = 'post') => {
  const reply = await gateway.api[method](path, body);
  if (reply.status !== 200) throw new Error(`${path}: ${reply.status} ${reply.text}`);
  return reply.json;
};

const servers = new Map<string, Awaited<ReturnType<typeof startServer>>>();
for (const kind of Object.keys(SERVERS)) {
  const server = await startServer(kind);
  servers.set(kind, server);
  const slug = slugOf(kind);
  const transport = server.url === null ? 'stdio' : server.url.endsWith('/sse') ? 'sse' : 'streamable_http';
  await post('/v1/mcp-servers', {
    ...{ name: kind, slug, ...(server.url !== null && { url: server.url }) },
    configurations: {
      transport,
      ...(transport === 'stdio' && { stdio: { command: bun, args: [plain, 'stdio'] } }),
      rate_limits: [{ type: 'requests', unit: 'rpm', value: 1, tool: 'limited' }],
    },
  });
  const capabilities = [{ type: 'tool', name: 'secret', enabled: false }];
  await post(`/v1/mcp-servers/${slug}/capabilities`, { capabilities }, 'put');
}

/** A server of one version only, and a client of another: no fault of what is between them. */
const NO_VERSION = 'no common version';
const shown = (cell: string): string =>
  cell.includes('nsupported protocol version') ? NO_VERSION : cell.startsWith('new session') ? 'new session' : cell;
const COLUMNS = ['connect', 'list', 'call', 'denied', 'limited', 'parallel', 'server restarts', 'gateway restarts'];
const rows: { client: string; kind: string; at: string; cells: string[] }[] = [];
try {
  for (const at of ['own', 'all'] as const)
    for (const [kind, server] of servers) {
      const slug = slugOf(kind);
      const place = at === 'own' ? [`${url}/${slug}/mcp`, ADMIN_KEY, ''] : [`${url}/mcp`, ADMIN_KEY, `${slug}__`];
      const clients = Object.entries(CLIENTS).map(([client, command]) => ({
        ...startClient([...command, ...place]),
        row: { client, kind, at: at === 'own' ? `/${slug}/mcp` : '/mcp', cells: [] as string[] },
      }));
      for (const column of COLUMNS) {
        if (column === 'server restarts') {
          await server.restart();
          // A program is started anew by the gateway when its server changes.
          if (server.url === null) await post(`/v1/mcp-servers/${slug}`, { description: String(Date.now()) }, 'put');
        }
        if (column === 'gateway restarts') {
          await gateway.kill();
          gateway = await startProcess({ dataDir, environment });
        }
        for (const { step, row } of clients) {
          const hasNoVersion = row.cells[0]?.includes('nsupported protocol version') ?? false;
          row.cells.push(hasNoVersion ? '–' : await step(column.endsWith('restarts') ? 'again' : column));
        }
      }
      for (const { stop, row } of clients) {
        await stop();
        rows.push(row);
        console.error(`${row.at} ${row.client} ← ${row.kind}: ${row.cells.join(' | ')}`);
      }
    }
} finally {
  await gateway.kill();
  for (const server of servers.values()) await server.stop();
  removeDataDir(dataDir);
  if (!given) rmSync(folder, { recursive: true, force: true });
}

/** What is not as good as it could be, of all that a client did at one address. */
const told = (cells: readonly string[]): string => {
  if (cells[0] && shown(cells[0]) === NO_VERSION) return NO_VERSION;
  const odd = COLUMNS.flatMap((column, index) => (cells[index] === 'ok' ? [] : [`${column}: ${shown(cells[index]!)}`]));
  return odd.join(', ') || 'ok';
};

const names = Object.keys(CLIENTS);
console.log(`| Server | Address | ${names.join(' | ')} |\n|---|---|${'---|'.repeat(names.length)}`);
for (const kind of servers.keys())
  for (const at of [`/${slugOf(kind)}/mcp`, '/mcp']) {
    const cells = names.map((name) =>
      told(rows.find((row) => row.client === name && row.kind === kind && row.at === at)!.cells),
    );
    console.log(`| ${kind} | ${at === '/mcp' ? 'of all' : 'its own'} | ${cells.join(' | ')} |`);
  }
const failed = rows.filter(({ cells }) => cells.some((cell) => shown(cell).startsWith('FAILED')));
console.log(`\n${rows.length} pairs, ${failed.length} with something that fails.`);
process.exit(failed.length > 0 ? 1 : 0);
