import { afterAll, beforeAll, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  cell,
  dataDirWithSnapshot,
  openTestSandbox,
  PREPARED_MS,
  threadOf,
  warmUp,
} from '../../../test/assistants/sandbox.ts';
import { eventually } from '../../../test/process.ts';
import { NoPlace } from './places.ts';
import { NoSandbox } from './sandbox.ts';

const sandbox = openTestSandbox({ processes: 4 });
beforeAll(warmUp, PREPARED_MS);
afterAll(() => sandbox.stop());

/** Most tests need a Python, and not one of their own. */
const shared = threadOf(sandbox);

const isThere = (pid: number) => existsSync(`/proc/${pid}`) && !/^State:\s+Z/m.test(statusOf(pid));
const statusOf = (pid: number) => {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    return 'State:\tZ';
  }
};

test('answers what was printed, the last value, and tracebacks of the code alone', async () => {
  const { run } = shared;

  expect((await run('print("a")\nimport sys\nprint("b", file=sys.stderr)\n[1, "x"]')).logs).toBe("a\nb\n[1, 'x']\n");
  expect((await run('x = 3')).logs).toBe('');
  expect((await run('x;')).logs).toBe('');
  expect((await run('def f():\n  raise KeyError("k")\nf()')).logs).toBe(
    'Traceback (most recent call last):\n  File "<cell 4>", line 3, in <module>\n    f()\n    ~^^\n' +
      '  File "<cell 4>", line 2, in f\n    raise KeyError("k")\nKeyError: \'k\'\n',
  );
  expect((await run('if True print(1)')).logs).toContain('SyntaxError');
  expect((await run('import asyncio\nawait asyncio.sleep(0.01)\n"awaited"')).logs).toBe("'awaited'\n");
  expect((await run('exit()')).logs).toBe('');
  expect((await run('input()')).logs).toContain('Error');
  expect((await run('import js\njs.console.log("to the console", 1)')).logs).toBe('to the console 1\n');
  expect((await run('x')).logs).toBe('3\n');
});

test('hands out what was written and nothing else', async () => {
  const { run } = shared;
  const first = await run(cell('open("out.bin", "wb").write(bytes(range(256)))', { 'in.txt': 'in' }));
  expect(Object.keys(first.files)).toEqual(['out.bin']);
  expect(first.files['out.bin']!.length).toBe(256);

  const second = await run(
    'import os\nos.makedirs("a/b")\nopen("a/b/c.txt", "w").write("ü")\nos.symlink("/etc/passwd", "link")\nos.rename("out.bin", "moved.bin")',
  );
  expect(Object.keys(second.files).sort()).toEqual(['a/b/c.txt', 'moved.bin']);

  expect((await run('open("in.txt", "a").write(" and more")')).files).toEqual({ 'in.txt': 'in and more' });
  expect((await run('open("/tmp/elsewhere", "w").write("x")\nopen("in.txt").read()')).files).toEqual({});
});

test('images are what a value is shown as, what is displayed, and where a PNG lies', async () => {
  const { run } = shared;
  const code = `PNG = b'\\x89PNG\\r\\n\\x1a\\n'
class Plot:
    def __init__(self, name): self.name = name
    def _repr_png_(self): return PNG + self.name
import pathlib
path = pathlib.Path('a.png')
path.write_bytes(PNG + b'file')
display(Plot(b'one'), path)
Plot(b'last')`;

  const { images, logs, files } = await run(code);

  expect(images.map((image) => image.slice(8))).toEqual(['one', 'file', 'last']);
  expect([logs, Object.keys(files)]).toEqual(['', ['a.png']]);
  expect((await run('display("text", 1)\nPlot')).logs).toBe("text\n1\n<class '__main__.Plot'>\n");
});

const PAST = crypto.randomUUID();
/** A thread with a past, and what it answers when it is asked for it. */
const remembering = threadOf(sandbox, { thread: PAST });
const ASKED = 'n, open("n.txt").read(), late, first';

test('state is rebuilt elsewhere by repeating the cells, with their files as they came', async () => {
  const { run, past } = remembering;
  const first = 'first = random.random(), list({"a", "b", "c", "d"})';
  await run(cell(`import random\nn = int(open("n.txt").read())\n${first}`, { 'n.txt': '1' }));
  await run('n += 1\nopen("n.txt", "w").write(str(n))\nraise ValueError()');
  await run(cell('late = open("late.txt").read()', { 'late.txt': 'later' }));
  const before = await run(ASKED);

  const elsewhere = openTestSandbox();
  const again = threadOf(elsewhere, { thread: PAST });
  again.past.push(...past);
  const after = await again.run(ASKED);
  await elsewhere.stop();

  expect(before.logs).toStartWith("(2, '2', 'later', (");
  // Random numbers and the order of sets are the same, too, and those of another thread are not.
  expect([after.logs, after.isStateLost, after.files]).toEqual([before.logs, false, {}]);
  const random = /\(([\d.e-]+),/.exec(before.logs.slice(1))![1]!;
  expect((await shared.run('import random\nrandom.random()')).logs.trim()).not.toBe(random);
});

test('a thread of the same name in another workspace has a Python of its own', async () => {
  const theirs = threadOf(sandbox, { thread: PAST, workspace: 'theirs' });
  theirs.past.push(...remembering.past.map((each) => ({ ...each, code: 'pass' })));

  expect((await remembering.run('"late" in globals()')).logs).toBe('True\n');
  expect((await theirs.run('"late" in globals()')).logs).toBe('False\n');
});

test('code that takes too long is stopped, and what was there before it is there again', async () => {
  const quick = openTestSandbox({ cellSeconds: 10 });
  const { run, past } = threadOf(quick);
  await run('x = 1');
  await run('x = 3');
  past.pop();
  // A sandbox that is not where its thread is, is not used.
  expect((await run('x')).logs).toBe('1\n');

  const stopped = await run('x = 2\nimport asyncio\nawait asyncio.sleep(600)');
  const after = await run('x');
  await quick.stop();

  expect([stopped.stopped, stopped.logs, after.logs, after.isStateLost]).toEqual(['time', '', '1\n', false]);
});

test('cells that do not come to an end when they are repeated are given up, and their files are mounted', async () => {
  const quick = openTestSandbox({ cellSeconds: 10 });
  const { run, past } = threadOf(quick);
  past.push(cell('x = 1', { 'a.txt': 'still here' }), cell('import asyncio\nawait asyncio.sleep(600)'));

  const lost = await run('open("a.txt").read(), "x" in globals()');
  const after = await run('1');
  await quick.stop();

  expect([lost.logs, lost.isStateLost]).toEqual(["('still here', False)\n", true]);
  expect([after.logs, after.isStateLost]).toEqual(['1\n', false]);
});

test('whoever gives up ends the sandbox, at once', async () => {
  const { run } = shared;
  await run('1');
  const controller = new AbortController();
  const running = run('while True: pass', controller.signal);
  const pids = sandbox.pids;
  controller.abort(new Error('cancelled'));

  await expect(running).rejects.toThrow('cancelled');
  await eventually('the process is gone', () => pids.some((pid) => !isThere(pid)));
});

test('threads never share a Python, and more threads than places take turns', async () => {
  const small = openTestSandbox({ processes: 2 });
  const threads = Array.from({ length: 3 }, () => threadOf(small));
  const code = (number: number) => `found = "x" in globals()\nx = ${number}\nfound, x`;
  const logs = await Promise.all(threads.map(({ run }, number) => run(code(number))));
  const most = small.pids.length;
  const after = await threads[0]!.run('x');
  await small.stop();

  expect(logs.map(({ logs }) => logs)).toEqual([0, 1, 2].map((number) => `(False, ${number})\n`));
  expect(after.logs).toBe('0\n');
  expect(most).toBeLessThanOrEqual(2);
  expect(small.pids.filter(isThere)).toEqual([]);
});

test('when no place becomes free in time, that is said, and a sandbox that nobody needs ends', async () => {
  const full = openTestSandbox({ processes: 1, queueMs: 300, idleMs: 300 });
  const running = threadOf(full).run('import asyncio\nawait asyncio.sleep(2)');

  await expect(threadOf(full).run('1')).rejects.toThrow(NoPlace);
  expect((await running).stopped).toBeNull();
  const [pid] = full.pids;
  await eventually('the idle one ends', () => full.pids.length === 0 && !isThere(pid!));
  await full.stop();
});

test('a sandbox that does not keep quiet ends', async () => {
  const noisy = openTestSandbox({ idleMs: 60_000 });
  // Not before it has answered: what holds its own answer up is stopped as code that takes too long.
  const answered = await threadOf(noisy).run('import js\njs.eval("setTimeout(() => { for (;;); }, 1000); 1")');
  const [busy] = noisy.pids;
  expect([answered.stopped, isThere(busy!)]).toEqual([null, true]);
  await eventually('the busy one ends', () => noisy.pids.length === 0 && !isThere(busy!));
  await noisy.stop();
});

test('where nothing can be started, that is said with the reason', async () => {
  const none = openTestSandbox({ deno: '/bin/false' });

  await expect(threadOf(none).run('1')).rejects.toThrow(NoSandbox);
  await none.stop();
});

test('what the engine takes by itself is measured once and kept, and anew where what was kept is no number', async () => {
  const folder = join(await dataDirWithSnapshot(), 'interpreter');
  // Tests with other packages have measured, too.
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.memory'))
    .map((name) => join(folder, name));
  const writtenAt = () => files.map((file) => statSync(file).mtimeMs);
  const runIn = async () => {
    const sandbox = openTestSandbox({ folder });
    const { logs } = await threadOf(sandbox).run('6 * 7');
    await sandbox.stop();
    return logs;
  };
  const before = writtenAt();
  expect(await runIn()).toBe('42\n');
  expect(writtenAt()).toEqual(before);

  for (const file of files) writeFileSync(file, '-1');
  expect(await runIn()).toBe('42\n');
  expect(Math.max(...files.map((file) => Number(readFileSync(file, 'utf8'))))).toBeGreaterThan(100);
  rmSync(dirname(folder), { recursive: true });
});
