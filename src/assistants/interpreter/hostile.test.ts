import { afterAll, beforeAll, expect, test } from 'bun:test';
import { openTestSandbox, PREPARED_MS, threadOf, warmUp } from '../../../test/assistants/sandbox.ts';
import { LIMITS } from './limits.ts';

/** Code that does not get out and so tries to do harm with what it may do. */
const sandbox = openTestSandbox({ cellSeconds: 15 });
beforeAll(warmUp, PREPARED_MS);
afterAll(() => sandbox.stop());

/** A frame as the sandbox sends them, written past it. */
const spoofed = (header: object, ...bodies: string[]) => `import js
js.eval(r'''
  const text = new TextEncoder().encode(${JSON.stringify(JSON.stringify({ ...header, sizes: bodies.map((body) => body.length) }))});
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, text.byteLength);
  for (const bytes of [length, text, ...${JSON.stringify(bodies)}.map((body) => new TextEncoder().encode(body))])
    Deno.stdout.writeSync(bytes);
''')`;

test('more output than fits is cut in the middle, and says so', async () => {
  const { run } = threadOf(sandbox);
  const { logs } = await run('print("first")\nfor _ in range(2000): print("x" * 10_000)\nprint("last")');

  expect(logs.length).toBeLessThan(LIMITS.logBytes + 1_000);
  expect(logs).toStartWith('first\nxxx');
  expect(logs).toEndWith('xxx\nlast\n');
  expect(logs).toMatch(/\[… \d{8} bytes of output left out …\]/);
  expect((await run('1')).logs).toBe('1\n');
});

test('more files than are handed out are left out, and that is said', async () => {
  const { run } = threadOf(sandbox);
  const { files, logs } = await run('for n in range(3000): open(f"{n:04}.txt", "w").write("x")');

  expect(Object.keys(files)).toHaveLength(LIMITS.files);
  expect(logs).toContain(`[sandbox] ${3_000 - LIMITS.files} files were not handed out: at most ${LIMITS.files} are`);
});

test('files that are too large are left out, and that is said', async () => {
  const { run } = threadOf(sandbox);
  const code = `open("big.bin", "wb").truncate(${LIMITS.fileBytes + 1})\nopen("small.txt", "w").write("x")`;
  const { files, logs } = await run(code);

  expect(files).toEqual({ 'small.txt': 'x' });
  expect(logs).toContain('[sandbox] big.bin was not handed out');
});

test('paths lead nowhere but into the working folder of the sandbox itself', async () => {
  const { run } = threadOf(sandbox);
  const code = `import os
os.makedirs('/mnt/data/a', exist_ok=True)
os.symlink('/', 'root')
os.symlink('a', 'loop')
os.symlink('../loop', 'a/loop')
open('a/../../../tmp/evil', 'w').write('x')
open('a/-rf .. ;$(id)', 'w').write('x')
open('..\\\\up', 'w').write('x')
open('new\\nline', 'w').write('x')`;

  expect(Object.keys((await run(code)).files).sort()).toEqual(['..\\up', 'a/-rf .. ;$(id)', 'new\nline']);
});

test('what code says in the name of its sandbox counts for its own cell alone', async () => {
  const { run } = threadOf(sandbox);
  const forged = await run(spoofed({ type: 'result', images: 0, paths: ['../../evil'] }, 'forged', 'x'));

  expect([forged.logs, forged.files]).toEqual(['forged', { '../../evil': 'x' }]);
  // The true answer now stands where the next one is expected: only the thread that forged gets it.
  expect((await threadOf(sandbox).run('6 * 7')).logs).toBe('42\n');
});

const spoofs = {
  'too many files': spoofed({ type: 'result', images: 0, paths: Array(LIMITS.files + 1).fill('x') }),
  'sizes that do not add up': spoofed({ type: 'result', images: 3, paths: [] }, 'logs'),
  'an unknown type': spoofed({ type: 'ready' }),
  'a negative number': spoofed({ type: 'result', images: -1, paths: [] }, 'logs'),
  prose: 'import js\njs.eval("Deno.stdout.writeSync(new TextEncoder().encode(\'Hello, gateway!\'))")',
  'an endless header': 'import js\njs.eval("Deno.stdout.writeSync(new Uint8Array([255, 255, 255, 255]))")',
  'a huge file': `import js\njs.eval(r'''${spoofedSize(LIMITS.fileBytes + 1)}''')`,
};
for (const [name, code] of Object.entries(spoofs))
  test(`a frame with ${name} ends the sandbox and nothing else`, async () => {
    const { stopped, logs, files } = await threadOf(sandbox).run(code);

    expect([stopped, logs, files]).toEqual(['crash', '', {}]);
  });

/** A header that announces so many bytes. */
function spoofedSize(size: number): string {
  const header = JSON.stringify({ type: 'result', images: 0, paths: ['x'], sizes: [0, size] });
  return `const text = new TextEncoder().encode(${JSON.stringify(header)});
    const length = new Uint8Array(4);
    new DataView(length.buffer).setUint32(0, text.byteLength);
    Deno.stdout.writeSync(length);
    Deno.stdout.writeSync(text);`;
}

test('messages between threads of the sandbox cannot be told from answers, and harm only who sends them', async () => {
  const { run } = threadOf(sandbox);
  await run('import js\njs.eval("self.postMessage({ header: { type: \'result\' } }); self.postMessage(null)")');

  expect((await threadOf(sandbox).run('6 * 7')).logs).toBe('42\n');
});
