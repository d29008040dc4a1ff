import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import { csvRecords } from './csv.ts';
import { checked, createFindings, findingLines } from './findings.ts';
import { resolveSecret } from './secrets.ts';
import { readDocument, readSource } from './source.ts';

const documentOf = (text: string) => {
  const findings = createFindings();
  return { source: readDocument('file.yaml', text, findings), findings };
};

test('each part of a YAML file knows its line, and what is missing stands where it should be', () => {
  const { source } = documentOf('# a comment\nlist:\n  - name: one\n\n  - name: two\n    deep: { a: 1 }\n');

  const lineOf = (...path: (string | number)[]) => source!.placeOf(path).line;
  expect(lineOf('list')).toBe(2);
  expect(lineOf('list', 0, 'name')).toBe(3);
  expect(lineOf('list', 1)).toBe(5);
  expect(lineOf('list', 1, 'deep', 'a')).toBe(6);
  expect(lineOf('list', 1, 'absent')).toBe(5);
});

test('JSON is read with its lines, too', () => {
  const { source } = documentOf('{\n  "keys": [\n    {"token": "a"},\n    {"token": "\\u00e9\\ud83d\\ude00"}\n  ]\n}');

  expect(source!.value).toEqual({ keys: [{ token: 'a' }, { token: 'é😀' }] });
  expect(source!.placeOf(['keys', 1, 'token'])).toEqual({ file: 'file.yaml', line: 4 });
});

test('a file that cannot be understood names the line and repeats nothing of it', () => {
  const { source, findings } = documentOf('key: value\n}sk-a-secret: [\nkey: again\n');

  expect(source).toBeNull();
  expect(findings.faults.length).toBeGreaterThan(0);
  expect(findingLines(findings.faults).join('\n')).toMatch(/^file\.yaml:[123]: cannot be understood/);
  expect(findingLines(findings.faults).join('\n')).not.toContain('sk-a-secret');
});

test('a key that is given twice is a fault', () => {
  expect(documentOf('name: a\nname: b\n').findings.faults).toMatchObject([{ line: 2 }]);
});

test('YAML of Python has its numbers, booleans and merges, and of two keys of a name the last counts', () => {
  const findings = createFindings();
  const yaml = `rpm: 20_000
hex: 0x1F
n: 2
day: 2024-02-01
is_on: yes
base: &base { a: 1, b: 2 }
merged:
  <<: *base
  b: 3
rpm: 30
`;
  const source = readDocument('file.yaml', yaml, findings, 'python')!;

  expect(source.value).toEqual({
    rpm: 30,
    hex: 31,
    n: 2,
    day: '2024-02-01',
    is_on: true,
    base: { a: 1, b: 2 },
    merged: { a: 1, b: 3 },
  });
  expect(findings.faults).toEqual([]);
  expect(findingLines(findings.notes)).toEqual(['file.yaml:10: rpm is given twice; the last one counts']);
  expect(source.placeOf(['rpm']).line).toBe(10);
});

test('a bomb of aliases is refused', () => {
  const bomb = Array.from({ length: 12 }, (_, level) => {
    const inside =
      level === 0
        ? '[x, x]'
        : `[${Array(9)
            .fill(`*a${level - 1}`)
            .join(', ')}]`;
    return `a${level}: &a${level} ${inside}`;
  }).join('\n');

  const { source, findings } = documentOf(bomb);

  expect(source).toBeNull();
  expect(findings.faults[0]!.says).toContain('cannot be understood');
});

test('CSV keeps quotes, commas and line breaks, and knows the line each record starts on', () => {
  const records = csvRecords('\ufeffname,note\r\na,"one, ""two""\nthree"\r\n\r\nb,\n');

  expect(records).toEqual([
    { line: 2, value: { name: 'a', note: 'one, "two"\nthree' } },
    { line: 5, value: { name: 'b', note: '' } },
  ]);
});

test('every line of a JSON-lines file that is none is named', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-reading-'));
  try {
    writeFileSync(join(folder, 'keys.jsonl'), '{"a":1}\nnot json\n\n{"b":2}\n{broken\n');
    const findings = createFindings();
    expect(readSource(join(folder, 'keys.jsonl'), findings)).toBeNull();
    expect(findings.faults.map(({ line }) => line)).toEqual([2, 5]);
    expect(readSource(join(folder, 'absent.json'), findings)).toBeNull();
    expect(findings.faults[2]!.says).toContain('cannot be read');
    writeFileSync(join(folder, 'bytes.yaml'), Buffer.from([0x61, 0xff, 0x62]));
    readSource(join(folder, 'bytes.yaml'), findings);
    expect(findings.faults[3]!.says).toBe('cannot be read: it is not UTF-8');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('every issue of a schema becomes a fault with its line; a moment that has passed does not', () => {
  const { source, findings } = documentOf('a: 1\nb:\n  c: x\nextra: 1\nmore: 2\n');
  const schema = z.strictObject({ a: z.string(), b: z.object({ c: z.number() }) });

  expect(checked(schema, source!.value, { source: source!, path: [], findings })).toBeNull();
  expect(findingLines(findings.faults)).toEqual([
    'file.yaml:1: a: Invalid input: expected string, received number',
    'file.yaml:3: b.c: Invalid input: expected number, received string',
    'file.yaml:4: extra: is not known here',
    'file.yaml:5: more: is not known here',
  ]);
  const past = z.string().refine(() => false, 'lies in the past');
  expect(checked(past, '2020', { source: source!, path: [], findings })).toBe('2020');
});

test('a secret is read from where it is kept, and a missing one is named by its place', () => {
  const place = { environment: { SET: ' value ', BLANK: ' ' }, folder: tmpdir() };

  expect(resolveSecret({ env: 'SET' }, place)).toEqual({ secret: 'value' });
  expect(resolveSecret({ env: 'BLANK' }, place).why).toBe('the environment variable BLANK is not set');
  expect(resolveSecret({ file: 'no/such/file' }, place).why).toBe('the file no/such/file cannot be read (ENOENT)');
});
