import { afterAll, beforeAll, expect, test } from 'bun:test';
import { openTestSandbox, PREPARED_MS, threadOf, warmUp } from '../../../test/assistants/sandbox.ts';
import { eventually } from '../../../test/process.ts';
import type { CodeTools, ProgramEnd } from '../../core/code-runner.ts';
import type { WorkspaceId } from '../../core/ids.ts';
import { createPrograms } from './programs.ts';

/** Programs that call tools, as models write them and as attackers would. */
const sandbox = openTestSandbox({ cellSeconds: 60 });
const problems: string[] = [];
const programs = createPrograms({
  sandbox,
  cellSeconds: 60,
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

test('a program calls tools, at the same time when it says so, and only what it prints comes out', async () => {
  const code = `
import asyncio
total = 0
for n in range(3):
    total += (await add(a=n, b=10))["sum"]
print(total, await words(), await listing({}), (await picture())[0]["mimeType"], len(await large()))
print(await call_tool("add", {"a": 1, "b": 2}))
print(await asyncio.gather(*[slow() for _ in range(5)]))
made = await asyncio.gather(*[add(a="x" * 2_000_000, b="y") for _ in range(20)])
print(len(made))`;
  const { printed, how } = await run(code, { mostCalls: 33, mostBytes: 3 << 20 });

  expect(printed.split('\n')).toEqual([
    "33 just words [1, 2, {'three': 3}] image/png 3145728",
    "{'sum': 3}",
    "['done', 'done', 'done', 'done', 'done']",
    // Large calls that wait for their turn wait in the sandbox, and all are made.
    ...['20', ''],
  ]);
  expect(how).toBe('well');
  expect(made.map(({ name }) => name)).toEqual([
    ...['add', 'add', 'add', 'words', 'listing', 'picture', 'large', 'add'],
    ...[...Array(5).fill('slow'), ...Array(20).fill('add')],
  ]);
  expect(made[1]!.given).toBe('{"a": 1, "b": 10}');
  expect(mostUnderWay).toBe(3);
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
test('what is refused, or cannot be called, is an exception that says which and why', async () => {
  const attempts = Object.entries(refusals).map(
    ([name, [code]]) => `try:
${code.replace(/^/gm, '    ')}
except Exception as error:
    print(${JSON.stringify(name)}, "|", type(error).__name__, error)`,
  );
  const { printed, how } = await run(`
for name in ["broken", "denied", "asks", "no_such"]:
    try:
        await call_tool(name)
    except ToolError as error:
        print(error.tool, error.code, error.message)
${attempts.join('\n')}
print("one too many")
for _ in range(17): await words()`);

  const [ofTools, ofArguments] = [4, Object.keys(refusals).length];
  const lines = printed.split('\n');
  expect(lines.slice(0, ofTools)).toEqual([
    'broken None no such city',
    'denied -32602 Tool denied is not available.',
    'asks None the tool asks the user for something, which a program cannot pass on',
    'no_such -32602 Tool denied is not available.',
  ]);
  const refused = lines.slice(ofTools, ofTools + ofArguments);
  expect(refused.map((line) => line.split(' | ')[0])).toEqual(Object.keys(refusals));
  for (const [index, [, says]] of Object.values(refusals).entries()) expect(refused[index]).toContain(says);
  expect(made.map(({ name }) => name)).toEqual([
    ...['broken', 'denied', 'asks', 'no_such'],
    ...Array(16).fill('words'),
  ]);

  // What the program does not catch ends it, and is told as of its own lines alone.
  const uncaught = printed.slice(printed.indexOf('one too many\n'));
  expect(uncaught).toStartWith('one too many\nTraceback');
  expect(uncaught).toContain('for _ in range(17): await words()');
  expect(uncaught).toEndWith('ToolError: words: not called: one program makes at most 20 calls\n');
  expect(uncaught).not.toContain('<tools>');
  expect(how).toBe('failed');
});

test('two programs never share anything, and files are not handed out', async () => {
  const left = await run('secret = 1\nopen("/mnt/data/left", "w").write("x")\nimport builtins\nbuiltins.left = 1');
  expect(left.printed).toContain('were not handed out');
  const { printed } = await run(
    'import os, builtins\nprint("secret" in globals(), hasattr(builtins, "left"), os.listdir("/mnt/data"))',
  );

  expect(printed).toBe('False False []\n');
  expect(sandbox.pids).toEqual([]);
});

/** Programs with less of something than others. */
const lesser = ({ cellSeconds = 60, memoryMb = 256 }) => {
  const pool = openTestSandbox({ cellSeconds, memoryMb });
  const runner = createPrograms({ sandbox: pool, cellSeconds, memoryMb, report: () => {} });
  return {
    pool,
    run: (code: string, more: Partial<CodeTools> = {}, signal = new AbortController().signal) =>
      runner.run({ workspaceId: 'workspace' as WorkspaceId, code, tools: tools(more), signal }),
  };
};

test('a program that does not end is ended, and so is one whose client leaves', async () => {
  const hasty = lesser({ cellSeconds: 2 });
  try {
    // With calls that wait for their turn, more than the gateway holds.
    const spins = `import asyncio\n${'asyncio.ensure_future(call_tool("never", {"a": "x" * 2_000_000}));'.repeat(15)}\nawait asyncio.sleep(1)\nwhile True: pass`;
    expect(await hasty.run(spins, { mostBytes: 3 << 20 })).toEqual({ printed: '', how: 'too_long' });
    expect(await hasty.run('await never()')).toEqual({ printed: '', how: 'too_long' });
    expect(hasty.pool.pids).toEqual([]);
  } finally {
    await hasty.pool.stop();
  }

  const leaving = new AbortController();
  const left = run('await never()', {}, leaving.signal).then(
    () => 'ended',
    (error) => error,
  );
  await eventually('it waits for its call', () => made.length === 1);
  leaving.abort(new Error('gone'));
  expect(await left).toEqual(new Error('gone'));
  expect(sandbox.pids).toEqual([]);
});

test('memory and output are bounded, and say so', async () => {
  const small = lesser({ memoryMb: 48 });
  const { printed } = await small.run(
    'for _ in range(200): print("y" * 1000)\nprint("last")\nx = []\nwhile True: x.append(bytearray(4 << 20))',
  );
  await small.pool.stop();

  expect(printed.length).toBeLessThan(34_000);
  expect(printed).toMatch(/\[… \d+ bytes of output left out …\]/);
  expect(printed).toMatch(/yyy\nlast\nTraceback [\s\S]*MemoryError\n$/);
});

/** Frames that are written past the functions, in JavaScript. */
const raw = (count: number, name = 'add', given = '{"a":1,"b":2}', seconds = 30) => `import js
js.eval(r'''
for (let id = 1; id <= ${count}; id++)
  self.postMessage({ header: { type: 'call', id }, bodies: [new TextEncoder().encode(${JSON.stringify(name)}), new TextEncoder().encode(${JSON.stringify(given)})] });
''')
import asyncio
await asyncio.sleep(${seconds})
print("still there")`;

test('calls that are made past the functions are the same calls, and no more of them', async () => {
  const { printed } = await run(raw(3, '__proto__', '{"__proto__":{"polluted":1}}', 1));
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
