import { expect, test } from 'bun:test';
import { findMembers, prependMembers, removeMembers, splice } from './json-bytes.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const values = (text: string, name: string) => {
  const encoded = bytes(text);
  return findMembers(encoded, name).map(({ start, end }) => new TextDecoder().decode(encoded.subarray(start, end)));
};

const table: [name: string, text: string, found: string[]][] = [
  ['a plain member', '{"model":"a","x":1}', ['"a"']],
  ['the last member', '{"x":{"model":"inner"},"model":"b"}', ['"b"']],
  ['every duplicate', '{"model":"a","model":"b"}', ['"a"', '"b"']],
  [
    'a member after nested text that looks like one',
    '{"a":"\\"model\\":\\"no\\"","b":["{","\\\\"],"model" : "c" }',
    ['"c"'],
  ],
  ['a key spelled with escapes', '{"\\u006dodel":"d"}', ['"d"']],
  ['numbers, literals and objects', '{"model": -1.5e3 , "z":null}', ['-1.5e3']],
  ['an object value', '{"model":{"deep":[1,{"x":"}"}]},"n":1}', ['{"deep":[1,{"x":"}"}]}']],
  ['nothing in an array', '[{"model":"x"}]', []],
  ['nothing in what is not JSON', 'model=x', []],
  ['nothing in an empty body', '', []],
  ['nothing in an unclosed key', '{"model', []],
  ['an unclosed value up to the end', '{"model":"abc', ['"abc']],
];
for (const [name, text, found] of table)
  test(`findMembers sees ${name}`, () => expect(values(text, 'model')).toEqual(found));

test('a splice leaves every other byte as it was', () => {
  const text = '{ "id": 12345678901234567890, "model" : "@demo/x", "id": 1.0 }';
  const [member] = findMembers(bytes(text), 'model');
  expect(new TextDecoder().decode(splice(bytes(text), member!, '"x"'))).toBe(
    '{ "id": 12345678901234567890, "model" : "x", "id": 1.0 }',
  );
});

test('findMembers agrees with JSON.parse on generated objects', () => {
  let seed = 42;
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed % below;
  };
  const text = () =>
    Array.from({ length: random(6) }, () => ['"', '\\', 'é', '{', '}', ',', ':', 'm', '\n', '😀'][random(10)]).join('');
  const value = (depth: number): unknown => {
    const kind = random(depth > 3 ? 4 : 6);
    if (kind === 0) return random(1000) - 500;
    if (kind === 1) return text();
    if (kind === 2) return [true, false, null][random(3)];
    if (kind === 3) return random(100) / 7;
    if (kind === 4) return Array.from({ length: random(4) }, () => value(depth + 1));
    return Object.fromEntries(Array.from({ length: random(4) }, () => [text() || 'k', value(depth + 1)]));
  };
  for (let round = 0; round < 500; round++) {
    const object = { ...(value(0) as object), [text()]: value(0), model: value(0), after: value(0) };
    const encoded = JSON.stringify(object, null, random(3));
    const [member] = values(encoded, 'model');
    expect(JSON.parse(member!)).toEqual(JSON.parse(JSON.stringify(object.model)));
  }
});

test('members are removed wherever they stand, with one comma each', () => {
  const orders = ['', 'x', 'xx', 'a', 'ax', 'xa', 'xax', 'axxb', 'xxab', 'abxx', 'xaxbx', 'axbxcxx'];
  for (const [before, after] of [
    ['', ''],
    [' ', '\n'],
  ]) {
    for (const order of orders) {
      const members = [...order].map((name, index) => `${before}"${name}"${after}:${before}"${index},"${after}`);
      const text = `${after}{${members.join(',')}}${before}`;
      const found = findMembers(bytes(text), 'x');
      const left = new TextDecoder().decode(removeMembers(bytes(text), found));
      const { x: _removed, ...expected } = JSON.parse(text) as Record<string, unknown>;
      expect([text, JSON.parse(left)]).toEqual([text, expected]);
      expect(findMembers(bytes(left), 'x')).toEqual([]);
    }
  }
});

test('members that are put before all others are taken out again without a trace', () => {
  for (const text of ['{}', ' { }', '{"a":1}', '{ "a" : 1 }\n', '{\n  "a": [1, 2],\n  "b": {}\n}']) {
    const more = prependMembers(Buffer.from(text), '"model":"x","stream":true')!;
    expect(JSON.parse(Buffer.from(more).toString())).toEqual({ model: 'x', stream: true, ...JSON.parse(text) });
    const less = removeMembers(more, findMembers(more, 'model'));
    expect(Buffer.from(removeMembers(less, findMembers(less, 'stream'))).toString()).toBe(text);
  }
  for (const text of ['[]', '', '"{"', '\x1f\x8b']) expect(prependMembers(Buffer.from(text), '"a":1')).toBeNull();
});
