import { expect, test } from 'bun:test';
import { JsonArrayParser } from './json-array.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

function parse(pieces: readonly Uint8Array[]) {
  const parser = new JsonArrayParser();
  return [...pieces.flatMap((piece) => parser.push(piece)), ...parser.end()].map(({ data }) => JSON.parse(data));
}

const ELEMENTS = [{ a: [1, { b: ']}' }] }, {}, { text: '"\\{[ 言葉 🌊' }];

test('elements come out the same wherever the array is cut', () => {
  const stream = bytes(`[${ELEMENTS.map((element) => JSON.stringify(element, null, 2)).join('\r\n,\n')}]\n`);
  expect(parse([stream])).toEqual(ELEMENTS);
  for (let cut = 0; cut <= stream.length; cut++)
    expect(parse([stream.subarray(0, cut), stream.subarray(cut)])).toEqual(ELEMENTS);
  expect(parse(Array.from(stream, (byte) => Uint8Array.of(byte)))).toEqual(ELEMENTS);
});

test('an object that stands alone is an event, an element that is not whole is none', () => {
  expect(parse([bytes('{"error":{"code":400}}')])).toEqual([{ error: { code: 400 } }]);
  expect(parse([bytes('[{"a":1},{"b":')])).toEqual([{ a: 1 }]);
  expect(parse([bytes('[]')])).toEqual([]);
});

test('an element beyond the limit is refused before it fills the memory', () => {
  const parser = new JsonArrayParser({ mostBytes: 100 });
  parser.push(bytes('[{"a":"'));
  expect(() => parser.push(bytes('x'.repeat(200)))).toThrow('larger than 100 bytes');
});

test('the buffer of a piece may be used again', () => {
  const parser = new JsonArrayParser();
  const buffer = bytes('[{"a":1');
  parser.push(buffer);
  buffer.fill(0);
  expect(parser.push(bytes('}]'))).toEqual([{ data: '{"a":1}' }]);
});
