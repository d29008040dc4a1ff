/** Values of JSON that cost the most for their size, each of about `size` bytes: by what they cost. */
export const worstValues: Readonly<Record<string, (size: number) => string>> = {
  'deep lists': (size) => '['.repeat(size / 2) + ']'.repeat(size / 2),
  'deep objects': (size) => `${'{"a":'.repeat(size / 6)}1${'}'.repeat(size / 6)}`,
  'depth that is never closed': (size) => '['.repeat(size),
  'depth as far as it is allowed': (size) => `[${list(size / 123, () => `${'['.repeat(60)}${']'.repeat(60)}`)}]`,
  'empty lists': (size) => `[${list(size / 3, () => '[]')}]`,
  'empty objects': (size) => `[${list(size / 3, () => '{}')}]`,
  'objects of one shape': (size) => `[${list(size / 45, (n) => `{"role":"user","type":"text","text":"${n}","a":1}`)}]`,
  'objects of many shapes': (size) => `[${list(size / 12, (n) => `{"${n.toString(36)}":1}`)}]`,
  'names that all differ': (size) => `{${list(size / 11, (n) => `"k${n.toString(36)}":1`)}}`,
  'one name again and again': (size) => `{${list(size / 6, () => '"a":1')}}`,
  'numbers that are names': (size) => `{${list(size / 14, (n) => `"${n * 4_001}":1`)}}`,
  'numbers of one digit': (size) => `[${list(size / 2, () => '1')}]`,
  'numbers of many digits': (size) => `[${list(size / 21, (n) => `0.${n}12345678901234567`)}]`,
  'one number of many digits': (size) => '1'.repeat(size),
  'one number with many zeros': (size) => `0.${'0'.repeat(size)}1e${'9'.repeat(9)}`,
  'one long text': (size) => `"${'a'.repeat(size)}"`,
  'one text of spaces': (size) => `"${' '.repeat(size)}"`,
  'a text of escapes': (size) => `"${'\\u0041'.repeat(size / 6)}"`,
  'a text of quotes': (size) => `"${'\\"'.repeat(size / 2)}"`,
  'a text of backslashes': (size) => `"${'\\\\'.repeat(size / 2)}"`,
  'a text of other scripts': (size) => `"${'日本語ไทย'.repeat(size / 18)}"`,
  'a text of characters outside the plane': (size) => `"${'😀'.repeat(size / 4)}"`,
  'short texts': (size) => `[${list(size / 4, () => '"a"')}]`,
  'long names': (size) => `{${list(size / 1_005, (n) => `"${String(n).padStart(1_000, 'n')}":1`)}}`,
};

/** Texts (the inside of a JSON string, nothing to escape) that cost readers of text the most. */
export const worstTexts: Readonly<Record<string, (size: number) => string>> = {
  letters: (size) => 'a'.repeat(size),
  spaces: (size) => ' '.repeat(size),
  words: (size) => 'lorem ipsum '.repeat(size / 12),
  digits: (size) => '4111 1111 1111 1112 '.repeat(size / 20),
  addresses: (size) => 'a@b.c '.repeat(size / 6),
  'one address without an end': (size) => `${'a.'.repeat(size / 2)}@`,
  links: (size) => 'http://a.b/c '.repeat(size / 13),
  keys: (size) => 'sk-AbC123xYz789QwErTy '.repeat(size / 22),
  base64: (size) => 'QWxhZGRpbjpvcGVuIHNlc2FtZQ'.repeat(size / 26),
  fences: (size) => '``` '.repeat(size / 4),
  braces: (size) => '{['.repeat(size / 2),
  sentences: (size) => 'A. B! C? '.repeat(size / 9),
  scripts: (size) => '日本語ไทยالعربية '.repeat(size / 40),
  accents: (size) => 'e\u0301\u0323'.repeat(size / 5),
};

function list(count: number, item: (index: number) => string): string {
  return Array.from({ length: Math.max(1, Math.floor(count)) }, (_, index) => item(index)).join(',');
}
