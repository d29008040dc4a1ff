import { readFileSync } from 'node:fs';
import { basename, extname } from 'node:path';
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  type ScalarTag,
  type Tags,
  visit,
} from 'yaml';
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

/**
 * How YAML is meant. `strict`: YAML 1.2, and a key that is given twice is a fault. `python`: as PyYAML reads it, which is
 * YAML 1.1 with `<<`, `20_000` and `yes`, and of two keys of one name the last counts.
 */
export type Yaml = 'strict' | 'python';

/** Reads YAML, JSON, JSON lines or CSV, by the ending of the name. Null: it cannot be read, which is a fault. */
export function readSource(path: string, findings: Findings, yaml: Yaml = 'strict'): Source | null {
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
  return readDocument(file, text, findings, yaml);
}

const BOOL = 'tag:yaml.org,2002:bool';
const bool = (value: boolean, test: RegExp): ScalarTag => ({
  tag: BOOL,
  default: true,
  identify: (given) => given === value,
  test,
  resolve: () => value,
});

/**
 * PyYAML's: `y` and `n` are no booleans, so that `n: 2` keeps its name. `2024-02-01` is a version of an API more often
 * than a day, and stays the text that it is.
 */
const pythonTags = (tags: Tags): Tags => [
  bool(true, /^(?:yes|Yes|YES|true|True|TRUE|on|On|ON)$/),
  bool(false, /^(?:no|No|NO|false|False|FALSE|off|Off|OFF)$/),
  ...tags.filter((tag) => typeof tag === 'string' || (tag.tag !== BOOL && tag.tag !== 'tag:yaml.org,2002:timestamp')),
];

const PARSING = {
  strict: {},
  python: { version: '1.1', uniqueKeys: false, customTags: pythonTags },
} as const;

/** YAML; JSON is read the same way, because it is YAML, too, and its lines are then known. */
export function readDocument(file: string, text: string, findings: Findings, yaml: Yaml = 'strict'): Source | null {
  const lines = new LineCounter();
  const document = parseDocument(text, { ...PARSING[yaml], lineCounter: lines, prettyErrors: false });
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
  if (yaml === 'python') sayTwice(document, (node, says) => findings.note({ file, line: lineOf(node) ?? 1 }, says));
  const meant = (node: Node | null): Node | null =>
    isAlias(node) ? ((node.resolve(document) as Node | undefined) ?? null) : node;
  return {
    file,
    value,
    placeOf: (path) => {
      let node = meant(document.contents as Node | null);
      let line = lineOf(node) ?? 1;
      for (const part of path) {
        if (isMap(node)) {
          const pair = node.items.findLast(({ key }) => isScalar(key) && String(key.value) === String(part));
          if (!pair) break;
          line = lineOf(pair.key as Node) ?? line;
          node = meant(pair.value as Node | null);
        } else if (isSeq(node)) {
          const item = node.items[Number(part)] as Node | null;
          line = lineOf(item) ?? line;
          node = meant(item);
        } else break;
      }
      return { file, line };
    },
  };
}

/** Names the keys that stand in one object again; `<<` may. */
function sayTwice(document: Document, say: (node: Node, says: string) => void) {
  visit(document, {
    Map: (_key, map) => {
      const seen = new Set<string>();
      for (const { key } of map.items as Pair<unknown>[]) {
        if (!isScalar(key) || key.value === '<<' || typeof key.value === 'symbol') continue;
        const name = String(key.value);
        if (seen.has(name)) say(key, `${name} is given twice; the last one counts`);
        seen.add(name);
      }
    },
  });
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
