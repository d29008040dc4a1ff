import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { strToU8, zipSync } from 'fflate';
import { openTestSandbox, PREPARED_MS, threadOf, warmUp } from '../../../test/assistants/sandbox.ts';
import { findSandbox } from './find.ts';
import { lockOf } from './wheels.ts';

const folder = mkdtempSync(join(tmpdir(), 'gateway-wheels, of two-'));
beforeAll(warmUp, PREPARED_MS);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A wheel with one package, as build tools make them. */
function writeWheel(name: string, source: string, needs: readonly string[] = [], more: Record<string, string> = {}) {
  const about = `${name}-1.0.dist-info`;
  const requires = needs.map((need) => `Requires-Dist: ${need}\n`).join('');
  const wheel = zipSync({
    [`${name}/__init__.py`]: strToU8(source),
    ...Object.fromEntries(Object.entries(more).map(([file, text]) => [`${name}/${file}`, strToU8(text)])),
    [`${about}/METADATA`]: strToU8(`Metadata-Version: 2.1\nName: ${name}\nVersion: 1.0\n${requires}`),
    [`${about}/WHEEL`]: strToU8('Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n'),
    [`${about}/RECORD`]: strToU8(''),
  });
  writeFileSync(join(folder, `${name}-1.0-py3-none-any.whl`), wheel);
}

test('wheels in the folder can be imported with what they need, and others are missing', async () => {
  writeWheel('Fancy_Sums', 'from tiny_base import one\ndef two(): return one() + one()', [
    'tiny.base>=1 ; python_version > "3"',
    'tiny-base (>=0.5)',
    'pytest ; extra == "test"',
    'absent',
  ]);
  writeWheel('tiny_base', 'def one(): return 1');
  const sandbox = openTestSandbox({ wheels: folder });
  const { run } = threadOf(sandbox);

  expect((await run('from Fancy_Sums import two\ntwo()')).logs).toBe('2\n');
  expect((await run('import numpy')).logs).toEndWith("ModuleNotFoundError: No module named 'numpy'\n");
  expect((await run('import absent')).logs).toEndWith("No module named 'absent'\n");
  await sandbox.stop();
});

/** What the interpreter uses of matplotlib, in place of its twenty megabytes. */
const PYPLOT = `figures = {}
class Figure:
    def __init__(self, drawn): self.drawn = drawn
    def savefig(self, file, format, **options): file.write(b'\\x89PNG\\r\\n\\x1a\\n' + self.drawn.encode())
def plot(text): figures.setdefault(1, Figure('')).drawn += text
def get_fignums(): return list(figures)
def figure(number): return figures[number]
def close(which): figures.clear()
def show(): raise RuntimeError('there is no screen')
`;

test('plots are shown one after the other, and at the end of the code', async () => {
  writeWheel('matplotlib', '', [], { 'pyplot.py': PYPLOT });
  const sandbox = openTestSandbox({ wheels: folder });
  const { run } = threadOf(sandbox);
  const code = 'from matplotlib import pyplot as plt\nplt.plot("one")\nplt.show()\nplt.plot("two")\nplt.plot("!")';
  const { images, logs } = await run(code);
  const next = await run('plt.plot("three")\nprint("drawn")');
  await sandbox.stop();

  expect([logs, images.map((image) => image.slice(8))]).toEqual(['', ['one', 'two!']]);
  expect([next.logs, next.images.map((image) => image.slice(8))]).toEqual(['drawn\n', ['three']]);
});

test("packages of Pyodide's own list are known by their files, and need only what lies there, too", async () => {
  const found = findSandbox({ deno: null, pyodide: null, wheels: null });
  if (!('place' in found)) throw new Error(found.problem);
  const wheels = join(folder, 'pyodide');
  mkdirSync(wheels);
  const all = JSON.parse(await Bun.file(join(found.place.pyodide, 'pyodide-lock.json')).text()).packages;
  for (const name of ['pandas', 'numpy']) writeFileSync(join(wheels, all[name].file_name), '');

  const { packages } = JSON.parse(await lockOf({ ...found.place, wheels }));

  expect(Object.keys(packages).sort()).toEqual(['numpy', 'pandas']);
  expect(packages.pandas).toEqual({ ...all.pandas, depends: ['numpy'] });
  expect(await lockOf(found.place)).toContain('"packages":{}');
});

test('a file that calls itself a wheel and is none is named', async () => {
  const wheels = join(folder, 'broken');
  mkdirSync(wheels);
  writeFileSync(join(wheels, 'broken-1-py3-none-any.whl'), 'not a zip');
  const sandbox = openTestSandbox({ wheels });

  await expect(threadOf(sandbox).run('1')).rejects.toThrow(
    'broken-1-py3-none-any.whl in the folder of wheels is no wheel',
  );
  await sandbox.stop();
});
