import { afterAll, beforeAll, expect, test } from 'bun:test';
import { openTestSandbox, PREPARED_MS, threadOf, warmUp } from '../../../test/assistants/sandbox.ts';
import { FRAMES_OF_JAILS, SPOOFS, spoofed } from '../../../test/assistants/spoofed-frames.ts';
import { LIMITS } from './limits.ts';

/** Code that does not get out and so tries to do harm with what it may do. */
const sandbox = openTestSandbox({ cellSeconds: 15, processes: 4 });
/** Of somebody who does no harm to others, beside those who try. */
const { run } = threadOf(sandbox);
const works = async () => expect((await run('6 * 7')).logs).toBe('42\n');
beforeAll(warmUp, PREPARED_MS);
afterAll(() => sandbox.stop());

test('more output than fits is cut in the middle, and says so', async () => {
  const { logs } = await run('print("first")\nfor _ in range(300): print("x" * 10_000)\nprint("last")');

  expect(logs.length).toBeLessThan(LIMITS.logBytes + 1_000);
  expect(logs).toStartWith('first\nxxx');
  expect(logs).toEndWith('xxx\nlast\n');
  expect(logs).toMatch(/\[… \d{7} bytes of output left out …\]/);
  await works();
});

test('files that are too large are left out, and that is said', async () => {
  const code = `open("big.bin", "wb").truncate(${LIMITS.fileBytes + 1})\nopen("small.txt", "w").write("x")`;
  const { files, logs } = await run(code);

  expect(files).toEqual({ 'small.txt': 'x' });
  expect(logs).toContain('[sandbox] big.bin was not handed out');
});

test('paths lead nowhere but into the working folder of the sandbox itself', async () => {
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

test('more files than are handed out are left out, and that is said', async () => {
  const { files, logs } = await run('for n in range(300): open(f"{n:04}.txt", "w").write("x")');

  expect(Object.keys(files)).toHaveLength(LIMITS.files);
  expect(logs).toContain(`[sandbox] ${300 - LIMITS.files} files were not handed out: at most ${LIMITS.files} are`);
});

test('what code says in the name of its sandbox counts for its own cell alone', async () => {
  const forged = await threadOf(sandbox).run(
    spoofed({ type: 'result', images: 0, paths: ['../../evil'] }, 'forged', 'x'),
  );

  expect([forged.logs, forged.files]).toEqual(['forged', { '../../evil': 'x' }]);
  // The true answer now stands where the next one is expected: only the thread that forged gets it.
  await works();
});

for (const [name, code] of Object.entries(SPOOFS).filter(([each]) => !FRAMES_OF_JAILS.includes(each)))
  test(`a frame with ${name} ends the sandbox and nothing else`, async () => {
    const { stopped, logs, files } = await threadOf(sandbox).run(code);

    expect([stopped, logs, files]).toEqual(['crash', '', {}]);
  });

test('messages between threads of the sandbox cannot be told from answers, and harm only who sends them', async () => {
  await threadOf(sandbox).run(
    'import js\njs.eval("self.postMessage({ header: { type: \'result\' } }); self.postMessage(null)")',
  );

  await works();
});
