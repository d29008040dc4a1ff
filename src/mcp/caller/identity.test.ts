import { expect, test } from 'bun:test';
import { asciiJson, selected } from './identity.ts';

test('claims are written as printable ASCII that reads back as what it was', () => {
  const claims = { name: 'Ćwik 🦊 \u0000\u007f\r\nX-Evil: 1', list: ['é', { '\u2028': '\ud800' }], n: 1.5 };

  const text = asciiJson(claims);

  expect(text).toMatch(/^[\x20-\x7e]*$/);
  expect(JSON.parse(text)).toEqual(claims);
  expect(asciiJson({ sub: 'ada', email: 'ada@example.com' })).toBe('{"sub":"ada","email":"ada@example.com"}');
});

test('every character of the basic plane survives', () => {
  for (let start = 0; start < 0x10000; start += 0x400) {
    const value = String.fromCharCode(...Array.from({ length: 0x400 }, (_, index) => start + index));
    const text = asciiJson({ value });
    expect(text).toMatch(/^[\x20-\x7e]*$/);
    expect(JSON.parse(text)).toEqual({ value });
  }
});

test('only claims that were asked for and are there are selected, in the order they were asked for', () => {
  const claims = { a: 1, b: null, c: undefined, d: ['x'], e: '' };

  expect(JSON.stringify(selected({ claims: ['d', 'nope', 'b', 'c', 'a', 'e'] }, { claims }))).toBe(
    '{"d":["x"],"a":1,"e":""}',
  );
  expect(asciiJson(selected({ claims: [] }, { claims }))).toBe('{}');
});

test('names of prototypes are claims like any other', () => {
  const claims = JSON.parse('{"__proto__":"p","constructor":"c"}');
  const chosen = selected({ claims: ['__proto__', 'constructor', 'toString', 'hasOwnProperty'] }, { claims });

  expect(asciiJson(chosen)).toBe('{"__proto__":"p","constructor":"c"}');
});
