import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ADMIN_KEY, client } from '../gateway.ts';
import { Person } from '../mcp/oauth.ts';
import { PASSWORD } from '../people.ts';
import { commands, newDataDir, removeDataDir, runGateway, startProcess } from '../process.ts';

/** `gateway login`, `keys` and `logs`, as an operator types them, against a gateway that runs. */

let gateway: Awaited<ReturnType<typeof startProcess>>;
const homes: string[] = [];
beforeAll(async () => {
  gateway = await startProcess();
});
afterAll(async () => {
  await gateway.stop();
  for (const home of homes) removeDataDir(home);
});

const newHome = (): string => {
  const home = newDataDir();
  homes.push(home);
  return home;
};
const asOperator = (...rest: string[]) =>
  runGateway({ arguments: [...rest, '--url', gateway.url], environment: { GATEWAY_ADMIN_KEY: ADMIN_KEY } });

/** A shell gives the key as input, so that it stands in no list of processes. */
async function signIn(home: string, url: string, key: string) {
  const child = Bun.spawn([...commands.program, 'login', '--url', url], {
    env: { PATH: process.env.PATH, HOME: home, GATEWAY_DATA_DIR: join(home, 'data') },
    stdin: Buffer.from(`${key}\n`),
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [output, errors, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { output, errors, exitCode };
}

const callWith = (key: string, model: string) =>
  fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'x-gateway-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }),
  });

describe('gateway keys', () => {
  test('create prints a key that works, and nothing else', async () => {
    const { output, exitCode } = await asOperator('keys', 'create', 'chat app', '--virtual-key', 'demo');
    expect(exitCode).toBe(0);
    const key = output.trim();
    expect(key).not.toMatch(/\s/);
    expect((await callWith(key, 'demo')).status).toBe(200);
    const listed = await asOperator('keys', 'list');
    expect(listed.output).toMatch(/ {2}active {2}chat app$/m);
    expect(listed.output).not.toContain(key);
  });

  test('a refusal of the gateway is told in its words', async () => {
    const { errors, exitCode } = await asOperator('keys', 'create', 'x', '--scopes', 'everything');
    expect(exitCode).toBe(1);
    expect(errors).toContain('scopes');
  });

  test('a verb that is none, and a name that is missing, say how the command is used', async () => {
    const verb = await asOperator('keys', 'make', 'x');
    expect([verb.exitCode, verb.errors]).toEqual([2, expect.stringContaining('"make" is not one of create, list')]);
    const name = await asOperator('keys', 'create');
    expect([name.exitCode, name.errors]).toEqual([2, expect.stringContaining('a name is missing')]);
  });
});

describe('gateway logs', () => {
  test('shows the newest entries, the newest last, and filters them', async () => {
    await callWith(ADMIN_KEY, '@demo/log-one');
    await callWith(ADMIN_KEY, '@demo/log-two');
    await Bun.sleep(1_000);
    const { output } = await asOperator('logs', '--where', 'path=/v1/chat');
    const lines = output.trim().split('\n');
    expect(lines.at(-1)).toMatch(
      /^\d{4}-\S+Z {2}200 {2}POST \/v1\/chat\/completions {2}\S+\/log-two {2}\d+ ms {2}\d+ tokens/,
    );
    expect(lines.at(-2)).toContain('log-one');
    const one = await asOperator('logs', '--where', 'model=log-one', '--json');
    expect(JSON.parse(one.output)).toMatchObject({ model: 'log-one', status: 200 });
  });

  test('goes on with what is called meanwhile, each entry once', async () => {
    const child = Bun.spawn([...commands.program, 'logs', '--follow', '--limit', '1', '--url', gateway.url], {
      env: { PATH: process.env.PATH, HOME: newHome(), GATEWAY_ADMIN_KEY: ADMIN_KEY },
      stdout: 'pipe',
    });
    let seen = '';
    const reading = (async () => {
      for await (const piece of child.stdout) seen += Buffer.from(piece).toString();
    })();
    const until = async (model: string) => {
      for (let tries = 0; !seen.includes(model) && tries < 300; tries++) await Bun.sleep(100);
    };
    await callWith(ADMIN_KEY, '@demo/follow-first');
    await until('follow-first');
    await callWith(ADMIN_KEY, '@demo/follow-second');
    await until('follow-second');
    await Bun.sleep(2_500);
    child.kill();
    await reading;
    expect(seen.match(/follow-(first|second)/g)).toEqual(['follow-first', 'follow-second']);
  });

  test('a limit or filter that is none is refused', async () => {
    expect((await asOperator('logs', '--limit', 'many')).errors).toContain('no number from 1 to 1000');
    expect((await asOperator('logs', '--where', 'status')).errors).toContain('write it as name=value');
  });
});

describe('gateway login', () => {
  test('keeps address and key for this user alone, and logout forgets them', async () => {
    const home = newHome();
    const key = (await asOperator('keys', 'create', 'reader', '--scopes', 'logs.list,logs.read')).output.trim();
    const signedIn = await signIn(home, `${gateway.url}/`, key);
    expect(signedIn.errors).toBe('');
    expect(signedIn.output).not.toContain(key);
    expect(statSync(join(home, '.config/gateway/login.json')).mode & 0o777).toBe(0o600);
    const read = await runGateway({ arguments: ['logs', '--limit', '1'], dataDir: home });
    expect([read.errors, read.exitCode]).toEqual(['', 0]);
    const refused = await runGateway({ arguments: ['keys', 'list'], dataDir: home });
    expect(refused.errors).toContain('api_keys.list');
    await runGateway({ arguments: ['logout'], dataDir: home });
    const gone = await runGateway({ arguments: ['logs'], dataDir: home });
    expect(gone.errors).toContain('gateway login --url');
  });

  test('signs in with a browser; token prints what calls with it, and logout ends it at the gateway', async () => {
    const home = newHome();
    const api = client(gateway.url);
    const email = 'ann@example.com';
    await api.put('/v1/admin/workspaces/default', { member_keys: {} });
    await api.post('/v1/admin/users', { email, role: 'member', password: PASSWORD });
    const child = Bun.spawn([...commands.program, 'login', '--browser', '--url', gateway.url], {
      env: { PATH: process.env.PATH, HOME: home, GATEWAY_DATA_DIR: join(home, 'data') },
      stdout: 'pipe',
      stderr: 'pipe',
    });
    let said = '';
    for await (const piece of child.stderr) {
      said += Buffer.from(piece).toString();
      if (said.includes('Waiting')) break;
    }
    const person = new Person(gateway.url, email);
    const path = `/oauth/device?user_code=${/type ([A-Z]{4}-[A-Z]{4})/.exec(said)![1]}`;
    await person.submit(await person.open(path), { email, password: PASSWORD });
    const shown = await person.open(path);
    const workspace = /<option value="([^"]+)"/.exec(shown.text)![1]!;
    await person.submit(shown, { workspace, decision: 'allow' });
    expect([await child.exited, await child.stdout.text()]).toEqual([0, expect.stringContaining('Signed in at')]);
    expect(statSync(join(home, '.config/gateway/login.json')).mode & 0o777).toBe(0o600);
    const printed = async () => (await runGateway({ arguments: ['token'], dataDir: home })).output.trim();
    const token = await printed();
    const chat = () => callWith(token, '@demo/demo');
    expect((await chat()).status).toBe(200);
    // It ends soon: the next one is another, and works.
    const file = join(home, '.config/gateway/login.json');
    writeFileSync(file, readFileSync(file, 'utf8').replace(/"expires_at":\d+/, '"expires_at":0'));
    const renewed = await printed();
    expect(renewed).not.toBe(token);
    expect((await callWith(renewed, '@demo/demo')).status).toBe(200);
    await runGateway({ arguments: ['logout'], dataDir: home });
    expect([(await chat()).status, (await callWith(renewed, '@demo/demo')).status]).toEqual([401, 401]);
    const none = await runGateway({ arguments: ['token'], dataDir: home });
    expect([none.exitCode, none.errors]).toEqual([1, expect.stringContaining('not signed in')]);
  });

  test('refuses a wrong key, and an address where no gateway is', async () => {
    const home = newHome();
    expect((await signIn(home, gateway.url, 'gw-wrong')).errors).toContain('does not know this key');
    expect((await signIn(home, 'http://127.0.0.1:9', ADMIN_KEY)).errors).toContain('No gateway answers');
    expect((await signIn(home, 'ftp://example.com', ADMIN_KEY)).errors).toContain('is no address of a gateway');
  });

  test("the key of this machine's gateway is sent to no other machine", async () => {
    const home = newHome();
    const started = await startProcess({ dataDir: home, environment: {} });
    await started.stop();
    const { errors } = await runGateway({ arguments: ['logs', '--url', 'http://203.0.113.9'], dataDir: home });
    expect(errors).toContain('No key is known for http://203.0.113.9');
  });
});

describe('gateway mcp', () => {
  const braced = (name: string) => `\${${name}}`;
  const fileWith = (value: unknown): string => {
    const path = join(newHome(), 'mcp.json');
    writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value));
    return path;
  };
  const registered = async (slug: string) => (await client(gateway.url).get(`/v1/mcp-servers/${slug}`)).json;

  test('import registers what files of clients and the registry tell of, and names what it leaves out', async () => {
    const file = fileWith({
      mcpServers: {
        notes: {
          type: 'http',
          url: 'http://127.0.0.1:9/mcp',
          headers: { Authorization: `Bearer ${braced('NOTES_TOKEN')}` },
        },
        Old_Ones: { type: 'sse', url: 'http://127.0.0.1:9/sse' },
        local: { command: 'npx', args: ['-y', 'something'] },
        asking: { url: 'http://127.0.0.1:9/mcp', headers: { 'X-Key': braced('input:key') } },
        inside: { url: 'http://169.254.169.254/mcp' },
      },
    });
    const run = (...more: string[]) =>
      runGateway({
        arguments: ['mcp', 'import', file, ...more, '--url', gateway.url],
        environment: { GATEWAY_ADMIN_KEY: ADMIN_KEY, NOTES_TOKEN: 'a-secret-of-notes' },
      });
    const dry = await run('--dry-run');
    expect(dry.output).toContain('would add   notes');
    expect((await registered('notes')).error.code).toBe('mcp_server_not_found');

    const { output, errors, exitCode } = await run();

    expect(output).toMatch(/^added {7}notes$/m);
    expect(output).toMatch(/^added {7}old_ones$/m);
    expect(output).toMatch(/^left out {4}local: it is a program to run \(npx\)/m);
    expect(output).toMatch(/^left out {4}asking: its header X-Key needs \$\{input:key\}/m);
    expect(output).toMatch(/^failed {6}inside: /m);
    expect([errors.includes('1 of 5'), exitCode]).toEqual([true, 1]);
    expect(output + errors).not.toContain('a-secret-of-notes');
    expect(await registered('notes')).toMatchObject({ auth_type: 'headers', url: 'http://127.0.0.1:9/mcp' });
    expect((await registered('old_ones')).configurations).toEqual({ transport: 'sse' });
    expect((await run()).output).toMatch(/^stays {7}notes is there already$/m);

    const registry = fileWith({
      servers: [
        {
          server: {
            name: 'io.github.someone/weather',
            title: 'Weather',
            description: 'The weather.',
            version: '1.0.0',
            remotes: [
              { type: 'sse', url: 'http://127.0.0.1:9/sse' },
              { type: 'streamable-http', url: 'http://127.0.0.1:9/mcp' },
            ],
          },
        },
        { server: { name: 'io.github.someone/package', packages: [{ registryType: 'npm', identifier: 'x' }] } },
        {
          server: {
            name: 'io.github.someone/keyed',
            remotes: [
              { type: 'streamable-http', url: 'http://127.0.0.1:9/', headers: [{ name: 'X-Key', isRequired: true }] },
            ],
          },
        },
      ],
    });
    const taken = await asOperator('mcp', 'import', registry);
    expect(taken.output).toMatch(/^added {7}weather$/m);
    expect(taken.output).toMatch(/package: it has no address, only a package to run/);
    expect(taken.output).toMatch(/keyed: it needs a value of yours for the header X-Key/);
    expect(await registered('weather')).toMatchObject({ name: 'Weather', url: 'http://127.0.0.1:9/mcp' });
    for (const [faulty, why] of [
      ['{', 'It is not JSON'],
      ['{"a":1}', 'nor of the format of the MCP registry'],
    ] as const) {
      const refused = await asOperator('mcp', 'import', fileWith(faulty));
      expect([refused.exitCode, refused.errors.includes(why)]).toEqual([1, true]);
    }
  });

  test('config prints the file of each client, for all servers, some, or their one address', async () => {
    const printed = async (...rest: string[]) => (await asOperator('mcp', 'config', ...rest)).output;
    const url = `${gateway.url}/notes/mcp`;
    const one = ['--server', 'notes', '--key-from', 'GATEWAY_KEY'];
    const headers = (value: string) => ({ headers: { Authorization: `Bearer ${value}` } });
    for (const [name, expected] of [
      ['claude-code', { mcpServers: { notes: { type: 'http', url, ...headers(braced('GATEWAY_KEY')) } } }],
      ['cursor', { mcpServers: { notes: { url, ...headers(braced('env:GATEWAY_KEY')) } } }],
      ['vscode', { servers: { notes: { type: 'http', url, ...headers(braced('env:GATEWAY_KEY')) } } }],
      ['windsurf', { mcpServers: { notes: { serverUrl: url, ...headers(braced('env:GATEWAY_KEY')) } } }],
      ['gemini-cli', { mcpServers: { notes: { httpUrl: url, ...headers('$GATEWAY_KEY') } } }],
    ] as const)
      expect(JSON.parse(await printed('--for', name, ...one))).toEqual(expected as never);
    expect(await printed('--for', 'codex', ...one)).toBe(
      `[mcp_servers."notes"]\nurl = "${url}"\nbearer_token_env_var = "GATEWAY_KEY"\n`,
    );
    const all = JSON.parse(await printed('--for', 'claude-code')).mcpServers;
    expect(Object.keys(all)).toEqual(expect.arrayContaining(['notes', 'old_ones', 'weather']));
    expect(all.weather).toEqual({ type: 'http', url: `${gateway.url}/weather/mcp` });
    expect(JSON.parse(await printed('--for', 'cursor', '--one'))).toEqual({
      mcpServers: { gateway: { url: `${gateway.url}/mcp` } },
    });
    for (const [given, why, code] of [
      [['--for', 'notepad'], 'no client that is known here', 2],
      [['--for', 'cursor', '--server', 'none'], 'no MCP server "none"', 1],
      [['--for', 'cursor', '--key-from', 'sk-123'], 'name of an environment variable', 2],
    ] as const) {
      const refused = await asOperator('mcp', 'config', ...given);
      expect([refused.exitCode, refused.errors.includes(why)]).toEqual([code, true]);
    }
  });
});
