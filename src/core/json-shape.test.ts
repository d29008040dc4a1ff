import { expect, test } from 'bun:test';
import { CHECKED_LIMITS, READ_LIMITS, shapeFault } from './json-shape.ts';

const faultOf = (json: string, limits = READ_LIMITS) => shapeFault(Buffer.from(json), limits);
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

test('64 levels pass, one more does not, and the fault names the member', () => {
  expect(faultOf(nested(64))).toBeNull();
  expect(faultOf(nested(65))).toEqual({ why: 'is nested deeper than 64 levels', member: null });
  expect(faultOf(`{"a":1,"tools":${nested(63)}}`)).toBeNull();
  expect(faultOf(`{"a":1,"tools":${nested(64)},"b":2}`)?.member).toBe('tools');
  expect(faultOf(`${'{"a":'.repeat(70)}1${'}'.repeat(70)}`)?.member).toBe('a');
});

test('what is closed again does not count as depth', () => {
  expect(faultOf(`[${Array(1_000).fill('[[]]').join()}]`)).toBeNull();
});

test('members and values are counted wherever they stand', () => {
  const limits = { depth: 64, members: 6, values: 6, texts: 4 };
  expect(faultOf('{"a":1,"b":2,"c":[{}]}', limits)).toBeNull();
  expect(faultOf('{"a":1,"b":2,"c":[{"d":1}]}', limits)?.why).toStartWith('has more than 6 members');
  expect(faultOf('{"a":[1,2,3,4,5]}', limits)?.why).toStartWith('has more than 6 values');
  expect(faultOf('["a","b","c","d","e"]', limits)?.why).toStartWith('has more than 4 names and texts');
  expect(faultOf(`{"a":[${Array(20_000).fill(1).join()}]}`, CHECKED_LIMITS)?.member).toBe('a');
});

test('brackets, quotes and commas in texts are text, however they are escaped and however long it is', () => {
  const brackets = '['.repeat(100);
  for (const text of [brackets, `\\"${brackets}`, `\\\\\\"${brackets}`, `${'x'.repeat(200)}\\"${brackets}`, '\\\\'])
    expect(faultOf(`{"a":"${text}"}`)).toBeNull();
  expect(faultOf(`{"a":"\\\\",${brackets}`)).not.toBeNull();
  expect(faultOf(`{"a":"${'x'.repeat(200)}\\\\",${brackets}`)).not.toBeNull();
  expect(faultOf(`{"a":"${'\\\\'.repeat(100)}",${brackets}`)).not.toBeNull();
});

test('agrees with the parser on where every text ends', () => {
  const letters = ['\\\\', '\\"', 'a', '[', '\\u0022', 'é'];
  for (let seed = 0; seed < 500; seed++) {
    const length = (seed * 7) % 400;
    const text = Array.from({ length }, (_, index) => letters[(seed * 31 + index * index * 17) % letters.length]).join(
      '',
    );
    const json = `{"x":"${text}","y":[[1]]}`;
    expect(JSON.parse(json).y).toEqual([[1]]);
    const exact = { depth: 3, members: 5, values: 5, texts: 3 };
    expect(faultOf(json, exact)).toBeNull();
    expect(faultOf(json, { ...exact, depth: 2 })?.member).toBe('y');
  }
});

test('what is no JSON is left to the parser', () => {
  for (const json of ['', '"', '"\\', ']]]]', '{"a', 'nul', '\u0000']) expect(faultOf(json)).toBeNull();
});

test('a long text costs nothing, and much else that has to be walked is refused', () => {
  expect(faultOf(`{"a":"${'x'.repeat(30_000_000)}","b":1}`)).toBeNull();
  expect(faultOf(`[${'1'.repeat(13_000_000)}]`)?.why).toStartWith('has more than 12 MiB outside of its texts');
  expect(faultOf(`{"a":"${'\\"'.repeat(8_000_000)}","b":1}`)?.why).toStartWith('has more than 12 MiB');
});

test('what begins like no object and no list has no shape: an image, a page, a number', () => {
  for (const start of ['\x89PNG', '<html>', '1,', 'x']) expect(faultOf(start + '['.repeat(100))).toBeNull();
  for (const start of [' \r\n\t', '\ufeff']) expect(faultOf(start + '['.repeat(100))).not.toBeNull();
});
