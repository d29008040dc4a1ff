import { charactersIn } from '../../core/characters.ts';
import { frontMatterIn } from './front-matter.ts';

export type Attributes = Record<string, string | number | boolean>;

export interface AttributeRules {
  readonly source: string;
  /** Given by the command for every file. */
  readonly fixed: Attributes;
  /** Names for the first folders of a path; '' leaves one out. */
  readonly folders: readonly string[];
  readonly frontMatter: boolean;
}

export interface FileAttributes {
  readonly attributes: Attributes;
  /** What did not fit, in words for people. */
  readonly warnings: readonly string[];
}

const MOST_PAIRS = 16;
const LONGEST_KEY = 64;
const LONGEST_VALUE = 512;

/**
 * By what searches can filter: where the file is, what the command says of it, then what its front matter says. What a
 * file says of itself never takes the place of what the command says.
 */
export function attributesOf(path: string, head: Uint8Array | null, rules: AttributeRules): FileAttributes {
  const made = new Map<string, string | number | boolean>();
  const warnings: string[] = [];
  const add = (key: string, value: string | number | boolean, where: string) => {
    const why = obstacle(made, key, value);
    if (why) warnings.push(`${where} '${key.slice(0, 80)}' is not an attribute: ${why}`);
    else made.set(key, value);
  };
  const parts = path.split('/').slice(0, -1);
  add('source', rules.source, 'the source');
  add('path', path, 'the path');
  add('folder', parts.join('/'), 'the folder');
  for (const [key, value] of Object.entries(rules.fixed)) add(key, value, '--attribute');
  for (const [index, key] of rules.folders.entries())
    if (key !== '' && parts[index] !== undefined) add(key, parts[index], 'the folder for');
  const stated = rules.frontMatter && head ? frontMatterIn(path, head) : null;
  if (typeof stated === 'string') warnings.push(`its front matter is not YAML: ${stated}`);
  else
    for (const [key, value] of Object.entries(stated ?? {})) {
      if (value === null) continue;
      const simple = simplified(value);
      if (simple === null)
        warnings.push(
          `front matter '${key.slice(0, 80)}' is not an attribute: it is no text, number, boolean or list of them`,
        );
      else add(key, simple, 'front matter');
    }
  return { attributes: Object.fromEntries(made), warnings };
}

/** Why it does not fit; null: it does. */
function obstacle(made: ReadonlyMap<string, unknown>, key: string, value: string | number | boolean): string | null {
  if (made.has(key)) return 'the sync gives an attribute of that name already';
  if (made.size === MOST_PAIRS) return `a file has at most ${MOST_PAIRS}`;
  if (key === '' || key === '__proto__') return 'an attribute cannot have that name';
  if (charactersIn(key) > LONGEST_KEY) return `a name has at most ${LONGEST_KEY} characters`;
  if (typeof value === 'number' && !Number.isFinite(value)) return 'it is no finite number';
  if (typeof value === 'string' && charactersIn(value) > LONGEST_VALUE)
    return `a text has at most ${LONGEST_VALUE} characters`;
  if (!key.isWellFormed() || (typeof value === 'string' && !value.isWellFormed())) return 'it holds half a character';
  // PostgreSQL takes none.
  if (`${key}${value}`.includes('\0')) return 'it holds a NUL';
  return null;
}

/** Lists become one text, with commas between. */
function simplified(value: unknown): string | number | boolean | null {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  if (!Array.isArray(value)) return null;
  const simple = value.map((member) => (Array.isArray(member) ? null : simplified(member)));
  return simple.includes(null) ? null : simple.join(', ');
}
