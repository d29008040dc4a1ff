import { expect, test } from 'bun:test';
import { pdfInEncoding } from '../../../test/assistants/documents.ts';
import { extract } from './extract-text.ts';

const hex = (bytes: readonly number[]): string => bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** The bytes of a text in an encoding of one and two bytes, found by trying all of them. */
function encoded(encoding: string, text: string): string {
  if (encoding === 'utf-16be') return hex([...Buffer.from(text, 'utf16le').swap16()]);
  const decoder = new TextDecoder(encoding as 'utf-8', { fatal: true });
  const codes = new Map<string, string>();
  const look = (...bytes: number[]) => {
    try {
      const character = decoder.decode(new Uint8Array(bytes));
      if (!codes.has(character)) codes.set(character, hex(bytes));
    } catch {}
  };
  for (let first = 0; first < 256; first++) look(first);
  for (let first = 0x81; first < 255; first++) for (let second = 0x40; second < 255; second++) look(first, second);
  return [...text].map((character) => codes.get(character)!).join('');
}

for (const [name, collection, encoding, text] of [
  ['UniJIS-UTF16-H', 'Japan1', 'utf-16be', '東京都の天気は晴れ、 ABC 12'],
  ['UniJIS-UCS2-H', 'Japan1', 'utf-16be', '奴隷の所有'],
  ['90ms-RKSJ-H', 'Japan1', 'shift_jis', '東京都の天気は晴れ、 ABC 12 ｱｲ'],
  ['UniGB-UCS2-H', 'GB1', 'utf-16be', '杭州商店2021年'],
  ['GBK-EUC-H', 'GB1', 'gbk', '杭州商店2021年'],
  ['UniCNS-UTF16-H', 'CNS1', 'utf-16be', '臺北市政府'],
  ['ETen-B5-H', 'CNS1', 'big5', '臺北市政府 42'],
  ['UniKS-UTF16-H', 'Korea1', 'utf-16be', '노예제도 42'],
  ['KSCms-UHC-H', 'Korea1', 'euc-kr', '노예제도 42'],
] as const)
  test(`text in ${name} is read, though the document does not say what its bytes stand for`, async () => {
    const { text: read } = await extract('a.pdf', pdfInEncoding(name, collection, encoded(encoding, text)));
    expect(read.normalize('NFKC')).toBe(text.normalize('NFKC'));
  });

test('numbers of a collection whose table is nowhere become no other characters', async () => {
  const fault = extract('a.pdf', pdfInEncoding('Identity-H', 'Japan1', '0345034603470348'));
  await expect(fault).rejects.toThrow('The file has no text.');
});
