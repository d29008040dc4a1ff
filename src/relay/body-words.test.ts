import { expect, test } from 'bun:test';
import { mayEscapeLetters, mayNameMcp, mayNameStream, wordsIn } from './body-words.ts';
import { modelMember } from './receive.ts';

/** A name in every way that JSON may write it: each letter as itself, or as an escape in either case. */
function writings(name: string): string[] {
  if (name === '') return [''];
  const code = name.charCodeAt(0).toString(16).padStart(4, '0');
  const first = [...new Set([name[0]!, `\\u${code}`, `\\u${code.toUpperCase()}`])];
  return writings(name.slice(1)).flatMap((rest) => first.map((letter) => letter + rest));
}

/** A member among others, which hold what might be taken for it. */
const bodyWith = (member: string) =>
  Buffer.from(`{"a":"\\"stream\\":false, \\u00e9, \\u2014",${member},"z":["é","\\\\u0073","\\"model\\":1"]}`);

test('a member that asks for a stream is never missed, however its name is written', () => {
  for (const name of writings('stream')) {
    const head = bodyWith(`"${name}":true`);
    expect(JSON.parse(head.toString()).stream).toBe(true);
    expect(mayNameStream({ head })).toBe(true);
    expect(mayNameStream({ head, words: wordsIn(head) })).toBe(true);
  }
});

test('the name of MCP servers is never missed, however it is written', () => {
  for (const name of writings('mcp')) {
    const head = bodyWith(`"${name}_servers":[]`);
    expect(mayNameMcp({ head })).toBe(true);
    expect(mayNameMcp({ head, words: wordsIn(head) })).toBe(true);
  }
});

test('a second model is never missed, however its name is written', () => {
  for (const name of writings('model')) {
    const head = bodyWith(`"model":"one","${name}":"two"`);
    expect(JSON.parse(head.toString()).model).toBe('two');
    expect(() => modelMember(head)).toThrow('twice');
  }
});

test('what was found as a body arrived is what searching it later finds', () => {
  for (const part of ['"stream"', 'stream', '"mcp_servers"', '\\u0073', '\\u0068', '\\u00e9', 'é', '']) {
    const head = Buffer.from(`{"a":"${part}"}`);
    const words = wordsIn(head);
    for (const ask of [mayNameStream, mayNameMcp, mayEscapeLetters]) expect(ask({ head, words })).toBe(ask({ head }));
  }
});

test('letters of other languages that are written as escapes are no reason to walk a body', () => {
  const head = Buffer.from('{"model":"a","messages":[{"role":"user","content":"caf\\u00e9 \\u00fcber \\u2014"}]}');
  expect(wordsIn(head)).toEqual({ escapes: false, stream: false, mcp: false });
});
