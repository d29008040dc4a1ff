import { readFileSync } from 'node:fs';
import { basename, extname } from 'node:path';
import { isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import { csvRecords } from './csv.ts';
import type { Findings, Place } from './findings.ts';

export type Path = readonly (string | number)[];

/** A file that an operator gives: its value, and where each part of it stands. */
export interface Source {
  readonly file: string;
  readonly value: unknown;
  /** The place of what the path leads to, or of the last part on the way there. */
  placeOf(path: Path): Place;
}

/** Reads YAML, JSON, JSON lines or CSV, by the ending of the name. Null: it cannot be read, which is a fault. */
export function readSource(path: string, findings: Findings): Source | null {
  const file = basename(path);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path));
  } catch (error) {
    const why = error instanceof TypeError ? 'it is not UTF-8' : (error as Error).message;
    findings.fault({ file, line: 1 }, `cannot be read: ${why}`);
    return null;
  }
  const ending = extname(path).toLowerCase();
  if (ending === '.csv') return readRecords(file, csvRecords(text));
  if (ending === '.jsonl' || ending === '.ndjson') return readLines(file, text, findings);
  return readDocument(file, text, findings);
}

/** YAML; JSON is read the same way, because it is YAML, too, and its lines are then known. */
export function readDocument(file: string, text: string, findings: Findings): Source | null {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  for (const { pos, message } of document.errors) {
    findings.fault({ file, line: lines.linePos(pos[0]).line }, `cannot be understood: ${withoutQuotation(message)}`);
  }
  if (document.errors.length > 0) return null;
  let value: unknown;
  try {
    value = document.toJS();
  } catch (error) {
    findings.fault({ file, line: 1 }, `cannot be understood: ${(error as Error).message}`);
    return null;
  }
  const lineOf = (node: Node | null | undefined) => (node?.range ? lines.linePos(node.range[0]).line : null);
  return {
    file,
    value,
    placeOf: (path) => {
      let node = document.contents as Node | null;
      let line = lineOf(node) ?? 1;
      for (const part of path) {
        if (isMap(node)) {
          const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(part));
          if (!pair) break;
          line = lineOf(pair.key as Node) ?? line;
          node = pair.value as Node | null;
        } else if (isSeq(node)) {
          node = node.items[Number(part)] as Node | null;
          line = lineOf(node) ?? line;
        } else break;
      }
      return { file, line };
    },
  };
}

/** Some of the parser's sentences end in a piece of the file, which may be a secret. */
const withoutQuotation = (message: string) => message.replace(/:? *".*$/s, '');

function readLines(file: string, text: string, findings: Findings): Source | null {
  const records: { line: number; value: unknown }[] = [];
  let isGood = true;
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    try {
      records.push({ line: index + 1, value: JSON.parse(line) });
    } catch {
      isGood = false;
      // What the parser says would repeat a piece of the line, which holds keys.
      findings.fault({ file, line: index + 1 }, 'is not a JSON object on one line');
    }
  }
  return isGood ? readRecords(file, records) : null;
}

const readRecords = (file: string, records: readonly { line: number; value: unknown }[]): Source => ({
  file,
  value: records.map(({ value }) => value),
  placeOf: ([index]) => ({ file, line: records[Number(index ?? 0)]?.line ?? 1 }),
});
