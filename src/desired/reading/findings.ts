import type * as z from 'zod';
import { GatewayError } from '../../core/errors.ts';
import type { Path, Source } from './source.ts';

/** Where in a file something stands. */
export interface Place {
  readonly file: string;
  readonly line: number;
  /** Where there are no lines: what leads to it. */
  readonly path?: Path;
}

export interface Finding extends Place {
  readonly says: string;
}

/** What reading a file brings to light. A single fault is enough for nothing to be changed. */
export interface Findings {
  readonly faults: readonly Finding[];
  /** Faults whose part of the file stays behind, because the operator asked for the rest. */
  readonly skipped: readonly Finding[];
  /** What has no counterpart here, and is left behind. */
  readonly leftOut: readonly Finding[];
  /** What is taken over in another form than the file has it. */
  readonly notes: readonly Finding[];
  /** Faults so far, skipped or not. A part during which it grows is not taken over. */
  readonly count: number;
  fault(place: Place, says: string): void;
  leaveOut(place: Place, says: string): void;
  note(place: Place, says: string): void;
}

export function createFindings({ skipsFaults = false }: { skipsFaults?: boolean } = {}): Findings {
  const faults: Finding[] = [];
  const skipped: Finding[] = [];
  const leftOut: Finding[] = [];
  const notes: Finding[] = [];
  const into = (list: Finding[]) => (place: Place, says: string) => void list.push({ ...place, says });
  return {
    faults,
    skipped,
    leftOut,
    notes,
    get count() {
      return faults.length + skipped.length;
    },
    fault: into(skipsFaults ? skipped : faults),
    leaveOut: into(leftOut),
    note: into(notes),
  };
}

/** `config.yaml:12: model_list[0].model_name: …`, in the order of the files. */
export function findingLines(findings: readonly Finding[]): string[] {
  const files = [...new Set(findings.map(({ file }) => file))];
  return [...findings]
    .sort((a, b) => files.indexOf(a.file) - files.indexOf(b.file) || a.line - b.line)
    .map(({ file, line, says }) => `${file}:${line}: ${says}`);
}

/** `defaults.metadata`, `scopes[2]`. */
export const pathText = (path: Path): string =>
  path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : text ? `${text}.${part}` : part),
    '',
  );

const PAST = 'lies in the past';

/**
 * A part of a file against a schema of the API; every issue becomes a fault with its line. A moment that has passed is
 * no fault here: the file was right when it was written, and it is kept for longer than a request.
 */
export function checked<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  { source, path, findings }: { source: Source; path: Path; findings: Findings },
): z.infer<Schema> | null {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issues = result.error.issues.filter(({ message }) => message !== PAST);
  if (issues.length === 0) return value as z.infer<Schema>;
  for (const issue of issues) {
    const where = [...path, ...(issue.path as Path)];
    const fields = issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...where, key]) : [where];
    for (const field of fields) {
      const says = issue.code === 'unrecognized_keys' ? 'is not known here' : issue.message;
      findings.fault(source.placeOf(field), `${pathText(field) || 'the file'}: ${says}`);
    }
  }
  return null;
}

/** Runs a check of the gateway; what it refuses becomes a fault at the place given. */
export async function heed(findings: Findings, place: Place, field: string, check: () => Promise<unknown>) {
  try {
    await check();
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    findings.fault(place, field ? `${field}: ${error.message}` : error.message);
  }
}
