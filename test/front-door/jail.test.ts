import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import type OpenAI from 'openai';
import { ensureJail, JAIL_MS, PYTHON } from '../assistants/jail.ts';
import { type ChatRequest, startScriptedProvider } from '../assistants/scripted-provider.ts';
import { ADMIN_KEY, startGateway, type TestGateway } from '../gateway.ts';
import { startOrderServer } from '../mcp/order-server.ts';
import { message } from '../mcp/recorder.ts';
import { eventually, forTests, newDataDir, runGateway, startProcess } from '../process.ts';
import { openaiClient } from '../sdk-clients.ts';

let gateway: TestGateway;
const dataDir = newDataDir();
beforeAll(async () => {
  await ensureJail();
  gateway = await startGateway({ environment: { GATEWAY_DATA_DIR: dataDir, GATEWAY_INTERPRETER_PYTHON: PYTHON } });
}, JAIL_MS);
afterAll(async () => {
  await gateway?.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

const PLOT = `import pandas as pd
import matplotlib.pyplot as plt
frame = pd.DataFrame({"a": [1, 2, 39]})
frame.plot()
plt.show()
frame["a"].sum()`;

test('a model is told which packages there are, and its plot of a data frame comes as an image', async () => {
  const asked: ChatRequest[] = [];
  const provider = startScriptedProvider((request, number) => {
    asked.push(request);
    const call = { call: 'code_interpreter', arguments: JSON.stringify({ code: PLOT }) };
    return { parts: number === 1 ? [call] : [{ text: 'Drawn.' }], isWhole: request.stream !== true };
  });
  await gateway.given.virtualKey({ slug: 'jailed', provider: 'groq', key: 'k', custom_host: provider.url });
  const { key } = await gateway.given.apiKey({ defaults: { virtual_key: 'jailed' } });
  const openai = openaiClient(gateway.url, key);
  const response = await openai.responses.create({
    ...{ model: 'any', input: 'Draw it.', include: ['code_interpreter_call.outputs' as const] },
    tools: [{ type: 'code_interpreter', container: { type: 'auto' } }],
  });

  expect(JSON.stringify(asked[0])).toMatch(
    /It is Python 3\.[\d.]+ with its standard library and these packages: numpy \d/,
  );
  const { outputs } = response.output[0] as OpenAI.Responses.ResponseCodeInterpreterToolCall;
  expect(outputs).toEqual([
    { type: 'logs', logs: '42' },
    { type: 'image', url: expect.any(String) },
  ]);
  const { url } = outputs![1] as { url: string };
  const image = await fetch(url.replace(/^https?:\/\/[^/]+/, gateway.url), {
    headers: { authorization: `Bearer ${key}` },
  });
  expect(
    Buffer.from(await image.arrayBuffer())
      .subarray(1, 4)
      .toString(),
  ).toBe('PNG');
});

/** Processes that a process has begun, and those that they have. */
function descendantsOf(pid: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc').filter((each) => /^\d+$/.test(each)))
    try {
      const [state, parent] = readFileSync(`/proc/${name}/stat`, 'latin1').split(') ').at(-1)!.split(' ');
      if (state !== 'Z') parents.set(Number(name), Number(parent));
    } catch {}
  const found = [pid];
  for (const each of found) for (const [child, parent] of parents) if (parent === each) found.push(child);
  return found.slice(1);
}
const startedAt = (pid: number) => {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)!.split(' ');
    return fields[0] === 'Z' ? null : fields[19]!;
  } catch {
    return null;
  }
};

test(
  'a gateway that is killed leaves no jail behind, whatever the code in it does',
  async () => {
    const own = newDataDir();
    const orders = startOrderServer();
    const environment = { ...forTests, GATEWAY_DATA_DIR: own, GATEWAY_INTERPRETER_PYTHON: PYTHON };
    const killed = await startProcess({
      dataDir: own,
      environment: { ...environment, GATEWAY_INTERPRETER_SECONDS: '600' },
    });
    try {
      const headers = { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' };
      const post = (path: string, body: unknown) =>
        fetch(`${killed.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
      await post('/v1/mcp-servers', { name: 'Killed', slug: 'jail-killed', url: orders.url });
      const code = `import asyncio, ctypes, signal
for number in range(1, 32):
    try: signal.signal(number, signal.SIG_IGN)
    except OSError: pass
ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
asyncio.ensure_future(jail_killed__wait())
await asyncio.sleep(0.5)
while True: pass`;
      const answer = post('/mcp/code', message('tools/call', { name: 'run_code', arguments: { code } })).catch(
        () => null,
      );
      await eventually('the program calls the tool', () => orders.waiting === 1);
      const jails = descendantsOf(killed.pid).map((pid) => ({ pid, since: startedAt(pid) }));
      expect(jails.length).toBeGreaterThan(1);
      await killed.kill();

      await eventually('every one is gone', () => jails.every(({ pid, since }) => startedAt(pid) !== since), 30_000);
      expect(await answer).toBeNull();
    } finally {
      await killed.kill();
      orders.stop();
      rmSync(own, { recursive: true, force: true });
    }
  },
  JAIL_MS,
);

test('a gateway that cannot keep code in does not start and says why, and doctor says it before', async () => {
  const environment = { ...forTests, GATEWAY_DATA_DIR: newDataDir(), GATEWAY_INTERPRETER_PYTHON: '/nowhere/python3' };
  const started = await runGateway({ arguments: [], environment });
  expect([started.exitCode, started.errors]).toEqual([
    1,
    expect.stringContaining(
      'GATEWAY_INTERPRETER_PYTHON is set, and code of models cannot be kept in: there is no /nowhere/python3.',
    ),
  ]);
  const looked = await runGateway({ arguments: ['doctor'], environment });
  expect(looked.exitCode).toBe(1);
  expect(looked.output).toMatch(
    /FAULT +interpreter +GATEWAY_INTERPRETER_PYTHON is set, and code cannot be kept in: there/,
  );
  const both = { ...environment, GATEWAY_INTERPRETER_WHEELS: '/tmp' };
  expect((await runGateway({ arguments: [], environment: both })).errors).toContain(
    'GATEWAY_INTERPRETER_PYTHON is set together with GATEWAY_INTERPRETER_WHEELS',
  );
  const usual = await runGateway({
    arguments: ['doctor'],
    environment: { ...environment, GATEWAY_INTERPRETER_PYTHON: PYTHON },
  });
  expect(usual.output).toMatch(/ok +interpreter +code of models runs in a jail of Bubblewrap, in Python 3/);
});
