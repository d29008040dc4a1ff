import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { Findings } from './findings.ts';

const LINE = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)$/;

/**
 * The variables of an environment file (`NAME=value`, quotes, `export`, comments). They stand for what a file refers to,
 * and never for the gateway's own settings. Null: it cannot be read, which is a fault.
 */
export function readEnvFile(path: string, findings: Findings): Record<string, string> | null {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    findings.fault({ file: basename(path), line: 1 }, `cannot be read: ${(error as Error).message}`);
    return null;
  }
  const variables: Record<string, string> = {};
  for (const line of text.replace(/^\ufeff/, '').split(/\r?\n/)) {
    const [, name, value = ''] = LINE.exec(line) ?? [];
    if (name !== undefined) variables[name] = unquoted(value.trim());
  }
  return variables;
}

function unquoted(value: string): string {
  const [, quote, inside] = /^(["'])(.*?)\1\s*(?:#.*)?$/s.exec(value) ?? [];
  if (quote === '"') return inside!.replace(/\\n/g, '\n').replace(/\\(["\\$])/g, '$1');
  return inside ?? value.replace(/\s+#.*$/, '');
}
