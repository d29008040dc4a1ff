import { afterAll, beforeAll, expect, test } from 'bun:test';
import { openTestSandbox, PREPARED_MS, threadOf, warmUp } from '../assistants/sandbox.ts';
import { FRAMES_OF_JAILS, SPOOFS } from '../assistants/spoofed-frames.ts';

/** Code that uses up whatever it can get hold of. */
const sandbox = openTestSandbox({ cellSeconds: 30 });
beforeAll(warmUp, PREPARED_MS);
afterAll(() => sandbox.stop());

const works = async ({ run }: ReturnType<typeof threadOf>) => expect((await run('6 * 7')).logs).toBe('42\n');

const loops = {
  'of Python': 'while True: pass',
  'that catches everything': 'while True:\n  try:\n    while True: pass\n  except BaseException: pass',
  'of JavaScript': 'import js\njs.eval("for (;;);")',
  'that waits for nobody': 'import js\njs.eval("Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)")',
  'that never resolves': 'import js\nawait js.eval("new Promise(() => {})")',
  'that ignores signals':
    "import js\njs.eval(\"for (const name of ['SIGTERM', 'SIGINT', 'SIGXCPU', 'SIGHUP']) Deno.addSignalListener(name, () => {})\")\nwhile True: pass",
  'of a regular expression': 'import re\nre.match(r"(a+)+$", "a" * 60 + "b")',
  'of output': 'while True: print("x" * 1000)',
  'of files': 'n = 0\nwhile True:\n  n += 1\n  open(f"{n}", "w").close()',
  'of folders': 'import os\nwhile True:\n  os.mkdir("a")\n  os.chdir("a")',
};
for (const [name, code] of Object.entries(loops))
  test(`a loop ${name} is ended`, async () => {
    const short = openTestSandbox({ cellSeconds: 5 });
    const thread = threadOf(short);
    const { stopped, logs } = await thread.run(code);
    await works(thread);
    await short.stop();

    expect(stopped ?? logs).toMatch(/^(time|crash)$|Error/);
    expect(short.pids).toEqual([]);
  });

test('Python gets no more memory than it may have, and goes on', async () => {
  const { run } = threadOf(sandbox);
  const { logs } = await run('kept = []\nwhile True: kept.append(bytearray(10 << 20))');
  expect(logs).toContain('MemoryError');

  expect(Number((await run('size = len(kept) * 10\ndel kept\nsize')).logs)).toBeWithin(100, 300);
});

const bombs = {
  buffers: 'const kept = []; for (;;) kept.push(new Uint8Array(10 << 20).fill(1))',
  objects: 'const kept = []; for (;;) kept.push({ a: [kept.length] })',
  'memories of WebAssembly':
    'const kept = []; for (;;) { const m = new WebAssembly.Memory({ initial: 160 }); new Uint8Array(m.buffer).fill(1); kept.push(m); }',
  strings: 'let text = "x"; for (;;) text += text + Math.random()',
  threads: 'const source = "data:text/javascript,for(;;);"; for (;;) new Worker(source, { type: "module" })',
};
for (const [name, code] of Object.entries(bombs))
  test(`JavaScript that piles up ${name} gets no further than its sandbox`, async () => {
    const thread = threadOf(sandbox);
    const { stopped, logs } = await thread.run(`import js\njs.eval(r'''${code}''')`);

    // Whether it is told so, or ends, is the engine's choice.
    expect(stopped ?? logs).toMatch(/^(crash|time)$|JsException/);
    await works(thread);
  });

const exits = {
  'asks Deno to': 'import js\njs.Deno.exit(0)',
  'closes its thread': 'import js\njs.self.close()',
  'asks the system to': 'import os\nos._exit(3)',
  'reads where nothing is': 'import ctypes\nctypes.string_at(0)',
  'closes what it is spoken to by': 'import js\njs.Deno.stdin.close()\njs.Deno.stdout.close()',
};
for (const [name, code] of Object.entries(exits))
  test(`a sandbox that ends because code ${name} is followed by another`, async () => {
    const short = openTestSandbox({ cellSeconds: 4 });
    const { run } = threadOf(short);
    await run(code);
    const after = await run('6 * 7');
    await short.stop();

    expect([after.logs, short.pids]).toEqual(['42\n', []]);
  });

const forks = {
  'forks of Python': 'import os\nwhile True:\n  try: os.fork()\n  except OSError: pass',
  'threads of threads':
    'import js\njs.eval(r\'\'\'const source = "const spawn = () => new Worker(self.location.href, { type: \\"module\\" }); spawn(); spawn();"; const url = URL.createObjectURL(new Blob([source])); new Worker(url, { type: "module" }); new Worker(url, { type: "module" })\'\'\')\nwhile True: pass',
};
for (const [name, code] of Object.entries(forks))
  test(`a bomb of ${name} stays in its process and ends with it`, async () => {
    const short = openTestSandbox({ cellSeconds: 5 });
    const thread = threadOf(short);
    const { stopped } = await thread.run(code);
    await works(thread);
    await short.stop();

    expect(stopped).toBeOneOf(['time', 'crash']);
  });

for (const name of FRAMES_OF_JAILS)
  test(`a frame with ${name} ends the sandbox and nothing else`, async () => {
    const { stopped, logs, files } = await threadOf(sandbox).run(SPOOFS[name]!);

    expect([stopped, logs, files]).toEqual(['crash', '', {}]);
  });
