import { expect, test } from 'bun:test';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { dataDirWithSnapshot, PREPARED_MS } from '../assistants/sandbox.ts';
import { ADMIN_KEY } from '../gateway.ts';
import { startOrderServer } from '../mcp/order-server.ts';
import { message } from '../mcp/recorder.ts';
import { eventually, forTests, startProcess } from '../process.ts';

/** Processes with this in their command line; a test reads only those of its own gateway. */
function sandboxesOf(dataDir: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const [state] = readFileSync(join('/proc', String(pid), 'stat'), 'latin1')
          .split(') ')
          .at(-1)!
          .split(' ');
        const command = readFileSync(join('/proc', String(pid), 'cmdline'), 'latin1');
        return state !== 'Z' && command.includes(dataDir) && command.includes('deno');
      } catch {
        return false;
      }
    });
}

const PROGRAMS = {
  'waits for a tool': 'await code_killed__wait()',
  'spins while a tool is called':
    'import asyncio\nasyncio.ensure_future(code_killed__wait())\nawait asyncio.sleep(0.5)\nwhile True: pass',
};

for (const [what, code] of Object.entries(PROGRAMS))
  test(
    `a gateway that is killed while a program ${what} leaves no sandbox and no call behind`,
    async () => {
      const dataDir = await dataDirWithSnapshot();
      const orders = startOrderServer();
      const environment = { ...forTests, GATEWAY_DATA_DIR: dataDir, GATEWAY_INTERPRETER_SECONDS: '600' };
      const gateway = await startProcess({ dataDir, environment });
      try {
        const headers = { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' };
        const post = (path: string, body: unknown) =>
          fetch(`${gateway.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
        const registered = await post('/v1/mcp-servers', { name: 'Killed', slug: 'code-killed', url: orders.url });
        expect(registered.status).toBe(200);
        const answer = post('/mcp/code', message('tools/call', { name: 'run_code', arguments: { code } })).catch(
          () => null,
        );
        await eventually('the program calls the tool', () => orders.waiting === 1);
        expect(sandboxesOf(dataDir)).not.toEqual([]);
        await gateway.kill();

        await eventually('the sandbox is gone', () => sandboxesOf(dataDir).length === 0, 30_000);
        await eventually('the tool has been given up', () => orders.givenUp === 1);
        expect(await answer).toBeNull();
      } finally {
        await gateway.kill();
        orders.stop();
        rmSync(dataDir, { recursive: true, force: true });
      }
    },
    PREPARED_MS,
  );
