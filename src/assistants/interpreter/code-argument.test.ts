import { expect, test } from 'bun:test';
import { codeIn, GrowingCode } from './code-argument.ts';

const CODES = ['', 'x = 1', 'print("a\\n")\n\t# ü 🎉 "quoted" \\\\ \u0001', '\u2028 a\\u0041 \b\f\r/'];

test('code grows to what its arguments say when they are whole, however they are cut', () => {
  for (const code of CODES)
    for (const text of [JSON.stringify({ code }), ` { "code" : ${JSON.stringify(code)} } `, escaped(code)])
      for (let size = 1; size <= 7; size++) {
        const growing = new GrowingCode();
        let told = '';
        for (let at = 0; at < text.length; at += size) told += growing.push(text.slice(at, at + size));
        expect([told, growing.code]).toEqual([codeIn(text)!, code]);
      }
});

/** Every character as an escape. */
function escaped(code: string): string {
  const units = Array.from({ length: code.length }, (_, at) => code.charCodeAt(at).toString(16).padStart(4, '0'));
  return `{"code":"${units.map((digits) => `\\u${digits}`).join('')}"}`;
}

test('arguments that are something else are no code', () => {
  for (const text of ['', 'print(1)', '[]', 'null', '{"code":1}', '{"other":"x"}', '{"code":"x"'])
    expect(codeIn(text)).toBeNull();
});

test('nothing is told of arguments in which the code does not come first', () => {
  const growing = new GrowingCode();

  expect(growing.push('{"lang":"python","code":"x"}')).toBe('');
});
