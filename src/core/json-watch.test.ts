import { expect, test } from 'bun:test';
import { findMembers } from './json-bytes.ts';
import { MemberWatch } from './json-watch.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

const bodies: Record<string, string> = {
  'one member': '{"model":"a","x":1}',
  'two members': '{"model":"a","x":[1,{"model":2}],"model":"b"}',
  'names in escapes': '{"mod\\u0065l":1,"\\u006D\\u006fdel" : 2,"mode\\u006c2":3}',
  'names inside values': '{"a":{"model":1},"b":["model","x"],"c":"\\"model\\":1","model":"\\\\"}',
  'strings that end in backslashes': '{"a":"\\\\","b":"\\\\\\"","model":"\\"","c":"\\\\\\\\","model":1}',
  'a long name': `{"${'model'.repeat(50)}":1,"model":2}`,
  'a list': '[{"model":1},"model"]',
  'a text': '"model"',
  'no JSON': 'model: {"model"}',
  'an object that never ends': '{"model":"a',
  'letters of several bytes': '{"modél":1,"модель":"модель","model":"😀"}',
};

for (const [name, text] of Object.entries(bodies))
  test(`${name}: seen the same wherever the bytes are cut`, () => {
    const all = bytes(text);
    const expected = findMembers(all, 'model').length;
    for (let first = 0; first <= all.length; first++) {
      for (const second of [first, first + 1, all.length - 2]) {
        if (second < first || second > all.length) continue;
        const watch = new MemberWatch('model');
        const pieces = [all.subarray(0, first), all.subarray(first, second), all.subarray(second)];
        const seen = pieces.reduce((sum, piece) => sum + watch.push(piece), 0);
        expect([first, second, seen]).toEqual([first, second, expected]);
      }
    }
  });

test('a long string costs next to nothing', () => {
  const watch = new MemberWatch('model');
  watch.push(bytes('{"image":"'));
  const piece = bytes('a'.repeat(1 << 20));
  const started = performance.now();
  for (let count = 0; count < 64; count++) watch.push(piece);
  expect(watch.push(bytes('","model":1}'))).toBe(1);
  expect(performance.now() - started).toBeLessThan(10_000);
});
