import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openTestSandbox, PREPARED_MS, threadOf, warmUp } from '../../../test/assistants/sandbox.ts';
import { type Fence, type Fences, fencesFor, findFences, missingFences } from './fences.ts';
import { findSandbox } from './find.ts';
import { systemCalls } from './seccomp.ts';

/**
 * The first fence is gone here: Deno has every permission, as if code had found a way past them. What it may still not do
 * is up to the kernel. Machines differ in what they allow, so each test asks which fences there are.
 */
const found = findSandbox({ deno: null, pyodide: null, wheels: null });
if (!('place' in found)) throw new Error(`There is no sandbox to test: ${found.problem}.`);
const { deno } = found.place;
const dataDir = mkdtempSync(join(tmpdir(), 'gateway-fence-'));
const ownDir = mkdtempSync(join(tmpdir(), 'gateway-fence-own-'));
const secretFile = join(dataDir, 'state.db');
const ownFile = join(ownDir, 'snapshot');
const SECRET = `secret-${crypto.randomUUID()}`;
const listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => {} } });
const bystander = Bun.spawn(['/bin/sleep', '600'], { stdin: 'ignore', stdout: 'ignore' });
let fences: Fences;

beforeAll(async () => {
  writeFileSync(secretFile, SECRET);
  writeFileSync(ownFile, 'own');
  fences = await fencesFor(deno);
});
afterAll(() => {
  bystander.kill();
  listener.stop(true);
  for (const folder of [dataDir, ownDir]) rmSync(folder, { recursive: true, force: true });
});

/** JavaScript with every permission of Deno. */
async function run(body: string, { isFenced }: { isFenced: boolean }): Promise<string> {
  const code = `try { console.log('GOT ' + await (async () => { ${body} })()) } catch (error) { console.log('FAILED ' + error.message) }`;
  const command = [deno, 'eval', '--unstable-webgpu', code];
  const child = Bun.spawn(isFenced ? fences.around(command, [ownFile]) : command, {
    ...{ cwd: ownDir, env: { DENO_DIR: '/dev/null/none' }, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' },
  } as const);
  const [said, complaint] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return said.trim() || `ENDED ${complaint}`;
}

/** What is tried, and by which fences it is stopped: each by itself. */
const attempts: readonly [string, string, readonly Fence['name'][]][] = [
  ['reads the data dir', `return Deno.readTextFileSync(${JSON.stringify(secretFile)})`, ['files']],
  ['lists the data dir', `return [...Deno.readDirSync(${JSON.stringify(dataDir)})].length`, ['files']],
  ['writes into the data dir', `Deno.writeTextFileSync(${JSON.stringify(join(dataDir, 'written'))}, 'x')`, ['files']],
  ['reads the files of users', `return Deno.readTextFileSync('/etc/passwd').length`, ['files']],
  [
    "reads another process's command",
    `return Deno.readTextFileSync('/proc/${bystander.pid}/cmdline').length`,
    ['files', 'namespaces'],
  ],
  [
    'connects to this machine',
    `return (await Deno.connect({ hostname: '127.0.0.1', port: ${listener.port} })).remoteAddr.port`,
    ['system calls', 'namespaces'],
  ],
  ['listens', `return Deno.listen({ hostname: '127.0.0.1', port: 0 }).addr.port`, ['system calls', 'files']],
  ['signals another process', `Deno.kill(${bystander.pid}, 'SIGCONT'); return 'sent'`, ['system calls', 'namespaces']],
  ['starts a program', `return new Deno.Command('/bin/true').outputSync().code`, ['system calls', 'files']],
  [
    'loads the library of the system and asks for a socket',
    `return Deno.dlopen('libc.so.6', { socket: { parameters: ['i32', 'i32', 'i32'], result: 'i32' } }).symbols.socket(1, 1, 0) >= 0 ? 'a socket' : (() => { throw new Error('no socket') })()`,
    ['system calls'],
  ],
  [
    'loads the library of the system and makes a process',
    `const libc = Deno.dlopen('libc.so.6', { fork: { parameters: [], result: 'i32' }, _exit: { parameters: ['i32'], result: 'void' } }).symbols; const pid = libc.fork(); if (pid === 0) libc._exit(0); if (pid < 0) throw new Error('no process'); return pid`,
    ['system calls'],
  ],
];

describe('with every permission of Deno, code that', () => {
  for (const [name, body, stoppedBy] of attempts)
    test(`${name} is stopped by the kernel`, async () => {
      // Otherwise it would fail for a reason of its own, and prove nothing.
      expect(await run(body, { isFenced: false })).toStartWith('GOT');

      const isFenced = fences.all.some(({ name: fence, missing }) => stoppedBy.includes(fence) && missing === null);
      expect(await run(body, { isFenced: true })).toStartWith(isFenced ? 'FAILED' : 'GOT');
    });

  test('asks for the graphics processor gets none', async () => {
    expect(await run('return await navigator.gpu.requestAdapter()', { isFenced: true })).toBe('GOT null');
  });

  test('reads its own files can do so', async () => {
    const body = `return Deno.readTextFileSync(${JSON.stringify(ownFile)})`;
    expect(await run(body, { isFenced: true })).toBe('GOT own');
  });
});

test(
  'the sandbox of real code stands inside the fences',
  async () => {
    await warmUp();
    const sandbox = openTestSandbox();
    try {
      expect((await threadOf(sandbox).run('6 * 7')).logs).toBe('42\n');
      const [pid] = sandbox.pids;
      expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8')).toStartWith(deno);
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      const holds = (name: Fence['name']) => fences.all.some((each) => each.name === name && each.missing === null);
      if (holds('files') || holds('system calls')) {
        expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
        expect(status).toMatch(/^CapEff:\s+0+$/m);
        expect(status).toMatch(/^CapBnd:\s+0+$/m);
      }
      expect(/^Seccomp:\s+(\d)$/m.exec(status)?.[1] === '2').toBe(holds('system calls'));
      for (const kind of ['net', 'ipc', 'pid'])
        expect(readlinkSync(`/proc/${pid}/ns/${kind}`) !== readlinkSync(`/proc/self/ns/${kind}`)).toBe(
          holds('namespaces'),
        );
    } finally {
      await sandbox.stop();
    }
  },
  PREPARED_MS,
);

test('where a machine has no tools for it, each fence that is missing says why, and the command stays as it is', async () => {
  const none = await findFences(() => null);

  expect(missingFences(none).map(({ name, missing }) => [name, missing])).toEqual([
    ['namespaces', 'there is no unshare'],
    ['files', 'there is no perl'],
    ['system calls', 'there is no perl'],
  ]);
  expect(none.around(['deno', 'run'], [])).toEqual(['deno', 'run']);
  expect(none.hasParent).toBe(false);
});

test('a fence that cannot be put up ends the program instead of leaving it outside', async () => {
  if (missingFences(fences).length > 0) return expect(missingFences(fences)[0]!.missing).not.toBe('');
  const command = fences.around(['/bin/echo', 'outside'], []);
  const filter = systemCalls()!.filter;
  const broken = command.map((part) => (part === filter ? 'ff'.repeat(16) : part));
  const child = Bun.spawn(broken, { env: {}, stdout: 'pipe', stderr: 'pipe' });

  expect(await child.stdout.text()).toBe('');
  expect(await child.stderr.text()).toContain('filter of system calls');
  expect(await child.exited).not.toBe(0);
});

test('machines of a kind whose system calls are not known get no filter, rather than a wrong one', () => {
  expect(systemCalls('riscv64')).toBeNull();
  expect(systemCalls('arm64')!.filter).not.toBe(systemCalls('x64')!.filter);
});

test("an operator's script around Deno is left alone, and said to be", async () => {
  const script = join(ownDir, 'deno.sh');
  writeFileSync(script, `#!/bin/sh\nexec ${deno} "$@"\n`, { mode: 0o700 });

  const own = await fencesFor(script);

  expect(own.around([script, 'run'], [])).toEqual([script, 'run']);
  expect(missingFences(own).map(({ missing }) => missing)).toEqual(
    own.all.map(() => 'GATEWAY_INTERPRETER_DENO is a script, which is to bring its own'),
  );
});
