import { expect, test } from 'bun:test';
import { shapesIn } from './argument-shapes.ts';

const shapes = (given: unknown) =>
  shapesIn(Buffer.from(JSON.stringify({ method: 'tools/call', params: { name: 'x', arguments: given } })));

test('of arguments the types and sizes are told, and no value', () => {
  const given = {
    to: 'secret@example.com',
    copies: ['a', 'b', 'c'],
    urgent: true,
    count: 42,
    nothing: null,
    options: { deep: { deeper: 'secret' } },
  };
  expect(shapes(given)).toBe('{to:text(18),copies:[3],urgent:boolean,count:number,nothing:null,options:{deep:{1}}}');
});

test('names that may be data are not told either', () => {
  expect(shapes({ 'ada@example.com': 1, ok_name: 2, ['x'.repeat(65)]: 3 })).toBe('{*:number,ok_name:number,*:number}');
});

test('what is large is told shortly', () => {
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`argument_${index}`, 'x']));
  expect(shapes(many)!.length).toBeLessThanOrEqual(256);
});

test('a message without arguments, or that is none, has no shapes', () => {
  for (const text of ['', '{}', '[]', '{"params":{}}', '{"params":{"arguments":{"a":}}}', '{"params":{"arguments":{"a'])
    expect(shapesIn(Buffer.from(text))).toBeNull();
});
