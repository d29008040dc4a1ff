import { afterAll, beforeAll, expect, test } from 'bun:test';
import { openTestSandbox, PREPARED_MS, threadOf, warmUp } from '../../../test/assistants/sandbox.ts';
import type { CodeTools, ProgramEnd } from '../../core/code-runner.ts';
import type { WorkspaceId } from '../../core/ids.ts';
import { createPrograms } from './programs.ts';

/** Programs that call tools, as models write them and as attackers would. */
const sandbox = openTestSandbox({ cellSeconds: 20 });
const problems: string[] = [];
const programs = createPrograms({
  sandbox,
  cellSeconds: 20,
  memoryMb: 256,
  report: (problem) => void problems.push(problem),
});
beforeAll(warmUp, PREPARED_MS);
afterAll(() => sandbox.stop());

const made: { name: string; given: string }[] = [];
const result = (value: object) => Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result: value }));
const said = (text: string) => result({ content: [{ type: 'text', text }] });
let underWay = 0;
let mostUnderWay = 0;
const together = Promise.withResolvers<void>();

/** Tools behind the sandbox. */
const ANSWERS: Readonly<Record<string, (given: string) => Uint8Array | Promise<Uint8Array>>> = {
  add: (given) => {
    const { a, b } = JSON.parse(given);
    return result({ content: [], structuredContent: { sum: a + b } });
  },
  words: () => said('just words'),
  listing: () => said('[1, 2, {"three": 3}]'),
  picture: () => result({ content: [{ type: 'image', data: 'aGk=', mimeType: 'image/png' }] }),
  broken: () => result({ content: [{ type: 'text', text: 'no such city' }], isError: true }),
  asks: () => result({ resultType: 'input_required', inputRequests: {} }),
  denied: () =>
    Buffer.from('{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Tool denied is not available."}}'),
  slow: async () => {
    mostUnderWay = Math.max(mostUnderWay, ++underWay);
    // The first wait for each other: they are made at the same time, or this never ends.
    if (mostUnderWay === 3) together.resolve();
    await together.promise;
    await Bun.sleep(20);
    underWay--;
    return said('done');
  },
  never: () => new Promise(() => {}),
  large: () => said('x'.repeat(3 << 20)),
};

const tools = (more: Partial<CodeTools> = {}): CodeTools => ({
  functions: Object.fromEntries(Object.keys(ANSWERS).map((name) => [name, name])),
  mostCalls: 20,
  mostParallel: 3,
  mostBytes: 100_000,
  call: async (name, given) => {
    made.push({ name, given: Buffer.from(given).toString() });
    return ANSWERS[Object.hasOwn(ANSWERS, name) ? name : 'denied']!(Buffer.from(given).toString());
  },
  ...more,
});

const run = (
  code: string,
  more: Partial<CodeTools> = {},
  signal = new AbortController().signal,
): Promise<ProgramEnd> => {
  made.length = 0;
  return programs.run({ workspaceId: 'workspace' as WorkspaceId, code, tools: tools(more), signal });
};

test('a program calls tools, and only what it prints comes out', async () => {
  const { printed, how } = await run(`
total = 0
for n in range(3):
    total += (await add(a=n, b=10))["sum"]
print(total, await words(), await listing({}), (await picture())[0]["mimeType"], len(await large()))
print(await call_tool("add", {"a": 1, "b": 2}))`);

  expect([printed, how]).toEqual(["33 just words [1, 2, {'three': 3}] image/png 3145728\n{'sum': 3}\n", 'well']);
  expect(made.map(({ name }) => name)).toEqual(['add', 'add', 'add', 'words', 'listing', 'picture', 'large', 'add']);
  expect(made[1]!.given).toBe('{"a": 1, "b": 10}');
});

test('calls are made at the same time when the program says so', async () => {
  const { printed } = await run('import asyncio\nprint(await asyncio.gather(*[slow() for _ in range(5)]))');

  expect(printed).toBe("['done', 'done', 'done', 'done', 'done']\n");
  expect(mostUnderWay).toBe(3);
});

test('what a tool or a policy refuses is an exception that says which and why', async () => {
  const { printed, how } = await run(`
for name in ["broken", "denied", "asks", "no_such"]:
    try:
        await call_tool(name)
    except ToolError as error:
        print(error.tool, error.code, error.message)
await broken(city="Atlantis")`);

  expect(printed).toStartWith(
    'broken None no such city\ndenied -32602 Tool denied is not available.\nasks None the tool asks the user for something, which a program cannot pass on\nno_such -32602 Tool denied is not available.\n',
  );
  expect(printed).toContain('line 7');
  expect(printed).toEndWith('ToolError: broken: no such city\n');
  expect(printed).not.toContain('<tools>');
  expect(how).toBe('failed');
});

const refusals: Readonly<Record<string, readonly [code: string, says: string]>> = {
  'arguments that are no dict': ['await add(1, 2)', 'takes arguments by name, or one dict of all of them'],
  'arguments that are no JSON': ['await add(a={1, 2})', 'not JSON serializable'],
  'a number that JSON does not have': ['await add(a=float("nan"))', 'not JSON compliant'],
  'arguments without an end': ['x = []\nx.append(x)\nawait add(a=x)', 'nested more than 60 levels deep'],
  'arguments that are too large': ['await add(a="x" * 200_000)', 'the arguments have 200009 bytes; at most 100000'],
  'a tool that it was not given': ['await secret_tool()', "name 'secret_tool' is not defined"],
  'arguments as deep as it gets': [
    'x = []\nfor _ in range(200_000): x = [x]\nawait add(a=x)',
    'nested more than 60 levels deep',
  ],
};
test('what cannot be called is an error that a model can act on', async () => {
  const attempts = Object.entries(refusals).map(
    ([name, [code]]) => `try:
${code.replace(/^/gm, '    ')}
except Exception as error:
    print(${JSON.stringify(name)}, "|", type(error).__name__, error)`,
  );
  const { printed, how } = await run(attempts.join('\n'));

  expect(how).toBe('well');
  const lines = printed.trimEnd().split('\n');
  expect(lines.map((line) => line.split(' | ')[0])).toEqual(Object.keys(refusals));
  for (const [index, [, says]] of Object.values(refusals).entries()) expect(lines[index]).toContain(says);
  expect(made).toEqual([]);
});

test('one call too many is an error that a model can act on', async () => {
  const { printed, how } = await run('for _ in range(21): await words()');

  expect(printed).toContain('not called: one program makes at most 20 calls');
  expect(how).toBe('failed');
  expect(made).toHaveLength(20);
});

test('large calls that wait for their turn wait in the sandbox, and all are made', async () => {
  const code =
    'import asyncio\nmade = await asyncio.gather(*[add(a="x" * 2_000_000, b="y") for _ in range(20)])\nprint(len(made))';
  expect((await run(code, { mostBytes: 3 << 20 })).printed).toBe('20\n');
  expect(made).toHaveLength(20);
  const quick = openTestSandbox({ cellSeconds: 4 });
  const hasty = createPrograms({ sandbox: quick, cellSeconds: 4, memoryMb: 256, report: () => {} });
  const left = await hasty.run({
    workspaceId: 'workspace' as WorkspaceId,
    code: `import asyncio\n${'asyncio.ensure_future(call_tool("never", {"a": "x" * 2_000_000}));'.repeat(15)}\nawait asyncio.sleep(1)\nwhile True: pass`,
    tools: tools({ mostBytes: 3 << 20 }),
    signal: new AbortController().signal,
  });
  await quick.stop();
  expect(left.how).toBe('too_long');
});

test('two programs never share anything', async () => {
  await run('secret = 1\nopen("/mnt/data/left", "w").write("x")\nimport builtins\nbuiltins.left = 1');
  const { printed } = await run(
    'import os, builtins\nprint("secret" in globals(), hasattr(builtins, "left"), os.listdir("/mnt/data"))',
  );

  expect(printed).toBe('False False []\n');
  expect(sandbox.pids).toEqual([]);
});

test('a program that does not end is ended, and so is one whose client leaves', async () => {
  const quick = openTestSandbox({ cellSeconds: 3 });
  const hasty = createPrograms({ sandbox: quick, cellSeconds: 3, memoryMb: 256, report: () => {} });
  const ends = async (code: string, signal = new AbortController().signal) =>
    hasty.run({ workspaceId: 'workspace' as WorkspaceId, code, tools: tools(), signal });
  try {
    expect(await ends('while True: pass')).toEqual({ printed: '', how: 'too_long' });
    expect(await ends('await never()')).toEqual({ printed: '', how: 'too_long' });
    const leaving = new AbortController();
    const left = ends('await never()', leaving.signal).then(
      () => 'ended',
      (error) => error,
    );
    setTimeout(() => leaving.abort(new Error('gone')), 1_000);
    expect(await left).toEqual(new Error('gone'));
    expect(quick.pids).toEqual([]);
  } finally {
    await quick.stop();
  }
});

test('memory and output are bounded, and say so', async () => {
  const flood = await run('x = []\nwhile True: x.append(bytearray(16 << 20))');
  expect(flood.printed).toContain('MemoryError');
  const printed = await run('for _ in range(2000): print("y" * 1000)\nprint("last")');
  expect(printed.printed.length).toBeLessThan(34_000);
  expect(printed.printed).toMatch(/\[… \d+ bytes of output left out …\]/);
  expect(printed.printed).toEndWith('last\n');
  const files = await run('open("a.txt", "w").write("x")');
  expect(files.printed).toContain('were not handed out');
});

/** Frames that are written past the functions, in JavaScript. */
const raw = (count: number, name = 'add', given = '{"a":1,"b":2}') => `import js
js.eval(r'''
for (let id = 1; id <= ${count}; id++)
  self.postMessage({ header: { type: 'call', id }, bodies: [new TextEncoder().encode(${JSON.stringify(name)}), new TextEncoder().encode(${JSON.stringify(given)})] });
''')
import asyncio
await asyncio.sleep(5)
print("still there")`;

test('calls that are made past the functions are the same calls, and no more of them', async () => {
  const { printed } = await run(raw(3, '__proto__', '{"__proto__":{"polluted":1}}'));
  expect(printed).toBe('still there\n');
  expect(made).toHaveLength(3);
  expect(({} as { polluted?: number }).polluted).toBeUndefined();

  expect((await run(raw(5_000))).how).toBe('crashed');
  expect(made.length).toBeLessThanOrEqual(20);
  expect((await run(raw(1, 'add', 'x'.repeat(100_001)))).how).toBe('crashed');
  expect((await run(raw(1, 'n'.repeat(2_000)))).how).toBe('crashed');
  expect(made).toEqual([]);
  expect(problems).toEqual([]);
});

test('code of assistants has no tools, and frames that ask for some end its sandbox', async () => {
  const { run: runCell } = threadOf(sandbox);
  expect((await runCell('"call_tool" in globals()')).logs).toBe('False\n');
  expect((await runCell(raw(1))).stopped).toBe('crash');
});
