import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { ADMIN_KEY } from '../gateway.ts';
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
  const child = Bun.spawn([...commands.bundle, 'login', '--url', url], {
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
    const child = Bun.spawn([...commands.bundle, 'logs', '--follow', '--limit', '1', '--url', gateway.url], {
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
