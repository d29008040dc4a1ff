import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openTestSandbox, PREPARED_MS, type Ran, threadOf, warmUp } from '../../../test/assistants/sandbox.ts';

/**
 * Code of users can reach JavaScript, and from there everything that Deno has. What holds is that Deno was given no
 * permissions. Each of these tries to get at something outside; none may.
 */
const sandbox = openTestSandbox();
const folder = mkdtempSync(join(tmpdir(), 'gateway-escape-'));
const SECRET = `secret-${crypto.randomUUID()}`;
const secretFile = join(folder, 'secret.txt');
let connections = 0;
const listener = Bun.listen({
  hostname: '127.0.0.1',
  port: 0,
  socket: { open: () => void connections++, data: () => {} },
});
const origin = `127.0.0.1:${listener.port}`;
const thread = threadOf(sandbox);
const pyodide = fileURLToPath(new URL('../../../node_modules/pyodide', import.meta.url));

beforeAll(async () => {
  await warmUp();
  writeFileSync(secretFile, SECRET);
  writeFileSync(join(folder, 'secret.json'), JSON.stringify(SECRET));
  writeFileSync(join(folder, 'secret.mjs'), `export default ${JSON.stringify(SECRET)};`);
  process.env.SANDBOX_TEST_SECRET = SECRET;
}, PREPARED_MS);
afterAll(async () => {
  await sandbox.stop();
  listener.stop(true);
  delete process.env.SANDBOX_TEST_SECRET;
  rmSync(folder, { recursive: true, force: true });
});

/** Runs JavaScript in the sandbox and prints what comes of it, or what went wrong. */
const javascript = (body: string) => `import js
from pyodide.ffi import to_js
outcome = await js.eval(r'''(async () => {
  try { const value = await (async () => { ${body} })(); return 'GOT ' + String(value); }
  catch (error) { return 'FAILED ' + (error?.name ?? '') + ' ' + (error?.message ?? error); }
})()''')
print(outcome)`;

/** Python that may not print what it wants to. */
const attempts: Readonly<Record<string, string>> = {
  'reads /etc/passwd of the machine': `print("GOT" if "root:x:0:0:root:/root" in open('/etc/passwd').read() else "FAILED")`,
  'reads a file of the gateway': `print("GOT", open(${JSON.stringify(secretFile)}).read())`,
  'mounts a folder of the machine': `import pyodide_js\npyodide_js.mountNodeFS('/host', ${JSON.stringify(folder)})\nimport os\nprint("GOT", os.listdir('/host'), open('/host/secret.txt').read())`,
  'asks for the environment':
    'import os\nprint("GOT" if "SANDBOX_TEST_SECRET" in os.environ else "FAILED", dict(os.environ))',
  'starts a process': 'import subprocess\nprint("GOT", subprocess.run(["id"], capture_output=True))',
  'starts a shell': 'import os\nprint("GOT" if os.system("id") == 0 else "FAILED")',
  forks: 'import os\nprint("GOT", os.fork())',
  'becomes another program': 'import os\nos.execv("/bin/sh", ["sh"])\nprint("GOT")',
  'starts a thread': 'import threading\nthreading.Thread(target=print, args=("GOT",)).start()',
  'starts processes with multiprocessing':
    'import multiprocessing\nmultiprocessing.Process(target=print).start()\nprint("GOT")',
  'opens a socket': `import socket\ns = socket.create_connection(("127.0.0.1", ${listener.port}), timeout=2)\ns.send(b"GET / HTTP/1.0\\r\\n\\r\\n")\nprint("GOT", s.recv(10))`,
  'fetches with urllib': `import urllib.request\nprint("GOT", urllib.request.urlopen("http://${origin}/", timeout=2).read())`,
  'fetches with pyodide': `from pyodide.http import pyfetch\nprint("GOT", await (await pyfetch("http://${origin}/")).text())`,
  'fetches with a synchronous request': `from pyodide.http import open_url\nprint("GOT", open_url("http://${origin}/").read())`,
  'loads a library of the machine':
    'import ctypes\nlib = ctypes.CDLL("/lib/x86_64-linux-gnu/libc.so.6")\nprint("GOT", lib.getpid())',
  'installs a package': 'import micropip\nawait micropip.install("https://files.pythonhosted.org/x.whl")\nprint("GOT")',
  'loads a package by address': `import pyodide_js\nawait pyodide_js.loadPackage("http://${origin}/x-1-py3-none-any.whl")\nimport x\nprint("GOT")`,
  'kills the gateway':
    'import os, signal\nos.kill(os.getppid() or 1, signal.SIGKILL)\nprint("FAILED: nobody is there")',
};

/** The same in JavaScript, with the constructors of whatever is at hand. */
const payloads: Readonly<Record<string, string>> = {
  'climbs through constructors to Deno': `return ({}).constructor.constructor('return Deno.readTextFileSync(${JSON.stringify(JSON.stringify(secretFile))})')()`,
  'climbs through constructors to processes': `return (async () => {}).constructor('return new Deno.Command("/bin/id").output()')()`,
  'reads a file with Deno': `return Deno.readTextFile(${JSON.stringify(secretFile)})`,
  'reads a file with Node': `return (await import('node:fs')).readFileSync(${JSON.stringify(secretFile)}, 'utf8')`,
  'reads its own environment in /proc': `return Deno.readTextFileSync('/proc/self/environ')`,
  "reads the gateway's environment in /proc": `return Deno.readTextFileSync('/proc/' + Deno.ppid + '/environ')`,
  'reads its own memory map': `return Deno.readTextFileSync('/proc/self/maps')`,
  'leaves the folder of Pyodide by its parent': `return Deno.readTextFileSync(${JSON.stringify(`${pyodide}/../../package.json`)})`,
  'imports a file as text': `return (await import('file://' + ${JSON.stringify(secretFile)}, { with: { type: 'text' } })).default`,
  'imports a file as JSON': `return (await import('file://' + ${JSON.stringify(join(folder, 'secret.json'))}, { with: { type: 'json' } })).default`,
  'imports a file as a module': `return (await import('file://' + ${JSON.stringify(join(folder, 'secret.mjs'))})).default`,
  'imports a module that imports a file': `const source = 'export { default } from "file://${join(folder, 'secret.mjs')}"'; return (await import('data:text/javascript,' + encodeURIComponent(source))).default`,
  'fetches a file': `return (await fetch('file://' + ${JSON.stringify(secretFile)})).text()`,
  'lets a worker import a file': `const source = 'import secret from "file://${join(folder, 'secret.mjs')}"; self.postMessage(secret)'; return await new Promise((resolve, reject) => { const worker = new Worker('data:text/javascript,' + encodeURIComponent(source), { type: 'module' }); worker.onmessage = ({ data }) => resolve(data); worker.onerror = (event) => { event.preventDefault(); reject(new Error(event.message)); }; })`,
  'asks a worker for its permissions': `const source = 'self.postMessage(["read", "net", "run", "env", "write", "ffi", "sys"].map((name) => Deno.permissions.querySync({ name }).state).join())'; const states = await new Promise((resolve) => { const worker = new Worker('data:text/javascript,' + encodeURIComponent(source), { type: 'module' }); worker.onmessage = ({ data }) => resolve(data); }); if (states.includes('granted')) return states; throw new Error(states)`,
  'requires a module by path': `return (await import('node:module')).createRequire('file:///')(${JSON.stringify(join(folder, 'secret.json'))})`,
  'reads the environment with Deno': `return JSON.stringify(Deno.env.toObject())`,
  'reads the environment with Node': `return JSON.stringify(process.env)`,
  'writes a file': `Deno.writeTextFileSync(${JSON.stringify(join(folder, 'written'))}, 'x'); return 'written'`,
  'writes a file into the folder of Pyodide': `Deno.writeTextFileSync(${JSON.stringify(`${pyodide}/written`)}, 'x'); return 'written'`,
  'keeps something for others': `localStorage.setItem('a', 'b'); return localStorage.getItem('a')`,
  'keeps something in a cache': `await (await caches.open('x')).put('http://x/', new Response('y')); return 'kept'`,
  'opens a database in a file': `const { DatabaseSync } = await import('node:sqlite'); new DatabaseSync(${JSON.stringify(join(folder, 'written.db'))}); return 'opened'`,
  'attaches a database in a file': `const { DatabaseSync } = await import('node:sqlite'); new DatabaseSync(':memory:').exec("attach '${join(folder, 'written.db')}' as a; create table a.t (x)"); return 'attached'`,
  'runs a command with Deno': `return new TextDecoder().decode((await new Deno.Command('/bin/id').output()).stdout)`,
  'runs a command with Node': `return (await import('node:child_process')).execSync('id').toString()`,
  'loads a library': `return Deno.dlopen('/lib/x86_64-linux-gnu/libc.so.6', { getpid: { parameters: [], result: 'i32' } }).symbols.getpid()`,
  'loads an addon': `process.dlopen({ exports: {} }, '/lib/x86_64-linux-gnu/libc.so.6'); return 'loaded'`,
  'kills its parent': `Deno.kill(Deno.ppid, 'SIGKILL'); return 'killed'`,
  'signals its parent with Node': `process.kill(process.ppid, 'SIGTERM'); return 'killed'`,
  'fetches over the network': `return (await fetch('http://${origin}/')).text()`,
  'opens a WebSocket': `return await new Promise((resolve, reject) => { const socket = new WebSocket('ws://${origin}/'); socket.onopen = () => resolve('open'); socket.onerror = (event) => reject(new Error(event.message || 'no')); })`,
  'connects with Deno': `return (await Deno.connect({ hostname: '127.0.0.1', port: ${listener.port} })).remoteAddr.port`,
  'connects with Node': `return await new Promise((resolve, reject) => import('node:net').then(({ connect }) => connect(${listener.port}, '127.0.0.1').on('connect', () => resolve('open')).on('error', reject)))`,
  'listens on a port': `return Deno.listen({ port: 0 }).addr.port`,
  'sends datagrams': `const { createSocket } = await import('node:dgram'); return await new Promise((resolve, reject) => { const socket = createSocket('udp4'); socket.on('error', reject); socket.bind(0, () => resolve('bound')); })`,
  'connects to a socket of the machine': `return (await Deno.connect({ transport: 'unix', path: '/var/run/docker.sock' })).rid`,
  'asks for names': `return await Deno.resolveDns('example.com', 'A')`,
  'imports over the network': `return await import('http://${origin}/x.js')`,
  'imports from a registry': `return await import('npm:chalk')`,
  'imports from another registry': `return await import('jsr:@std/path')`,
  'asks for permission': `const states = []; for (const name of ['net', 'env', 'run', 'ffi', 'sys', 'write']) states.push((await Deno.permissions.request({ name })).state); if (states.some((state) => state !== 'denied')) return states.join(); throw new Error(states.join())`,
  'opens a debugger': `const inspector = await import('node:inspector'); inspector.open(0); return inspector.url()`,
  "asks about the machine's users": `return JSON.stringify((await import('node:os')).userInfo())`,
  "asks for the machine's name": `return Deno.hostname()`,
  "asks for the machine's networks": `return JSON.stringify(Deno.networkInterfaces())`,
  'asks for the graphics processor': `return (await navigator.gpu.requestAdapter()).info.vendor`,
  'dumps its memory to a file': `return (await import('node:v8')).writeHeapSnapshot(${JSON.stringify(join(folder, 'heap'))})`,
  'turns on the internals of its engine': `(await import('node:v8')).setFlagsFromString('--allow-natives-syntax'); return eval('%GetOptimizationStatus(() => 1)')`,
  'opens folders of the machine to WebAssembly': `const { WASI } = await import('node:wasi'); new WASI({ version: 'preview1', preopens: { '/': '/' } }); return 'opened'`,
};

/** Nothing came out, nothing was let in, and the next cell finds a Python that works. */
async function expectFailure({ logs, files, stopped }: Ran) {
  expect(logs).not.toMatch(/^GOT/m);
  // What asks for too much may take its own sandbox with it.
  if (stopped === null) expect(logs).toMatch(/^FAILED|Error|Exception/m);
  else thread.past.length = 0;
  expect(stopped).not.toBe('time');
  expect(logs + JSON.stringify(files)).not.toContain(SECRET);
  expect(connections).toBe(0);
  expect(readdirSync(folder).sort()).toEqual(['secret.json', 'secret.mjs', 'secret.txt']);
  expect(readFileSync(secretFile, 'utf8')).toBe(SECRET);
  expect((await thread.run('6 * 7')).logs).toBe('42\n');
}

describe('Python that', () => {
  for (const [name, code] of Object.entries(attempts))
    test(`${name} fails`, async () => expectFailure(await thread.run(code)));
});

describe('JavaScript that', () => {
  for (const [name, body] of Object.entries(payloads))
    test(`${name} fails`, async () => expectFailure(await thread.run(javascript(body))));
});

test('the process has nothing to give away: no environment, no other files open', async () => {
  const own = threadOf(sandbox);
  await own.run('1');
  for (const pid of sandbox.pids) {
    expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).toBe('DENO_DIR=/dev/null/none\0');
    const limits = readFileSync(`/proc/${pid}/limits`, 'utf8');
    expect(limits).toMatch(/Max core file size +0 +0/);
    expect(limits).toMatch(/Max open files +64 +64/);
    expect(limits).not.toMatch(/Max data size +unlimited/);
    expect(limits).not.toMatch(/Max cpu time +unlimited/);
  }
});
