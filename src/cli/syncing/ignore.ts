/** One line of a .gitignore. */
interface Rule {
  readonly pattern: RegExp;
  readonly isNegated: boolean;
  readonly isForFolders: boolean;
}

/** What the .gitignore of one folder says, for paths below that folder. */
export interface IgnoreFile {
  /** Null: it says nothing of this path. */
  verdict(path: string, isFolder: boolean): 'ignored' | 'kept' | null;
}

export function readIgnoreFile(text: string): IgnoreFile {
  const rules = text
    .split(/\r?\n/)
    .map(ruleOf)
    .filter((rule) => rule !== null);
  return {
    verdict: (path, isFolder) => {
      // The last line that speaks of it decides.
      const last = rules.findLast(({ pattern, isForFolders }) => (isFolder || !isForFolders) && pattern.test(path));
      if (!last) return null;
      return last.isNegated ? 'kept' : 'ignored';
    },
  };
}

function ruleOf(line: string): Rule | null {
  // Spaces at the end count only behind a backslash.
  let text = line.replace(/(?<!\\)\s+$/, '');
  if (text === '' || text.startsWith('#')) return null;
  const isNegated = text.startsWith('!');
  if (isNegated) text = text.slice(1);
  const isForFolders = text.endsWith('/');
  if (isForFolders) text = text.slice(0, -1);
  const isAnchored = text.includes('/');
  if (text.startsWith('/')) text = text.slice(1);
  if (text === '') return null;
  return {
    pattern: new RegExp(`^${isAnchored ? '' : '(?:.*/)?'}${expressionOf(text)}$`, 's'),
    isNegated,
    isForFolders,
  };
}

function expressionOf(text: string): string {
  let made = '';
  for (let at = 0; at < text.length; at++) {
    const rest = text.slice(at);
    if (rest.startsWith('**/') && (at === 0 || text[at - 1] === '/')) {
      made += '(?:.*/)?';
      at += 2;
    } else if (rest === '**' && text[at - 1] === '/') {
      made += '.+';
      at += 1;
    } else if (text[at] === '*') {
      made += '[^/]*';
      while (text[at + 1] === '*') at++;
    } else if (text[at] === '?') made += '[^/]';
    else if (text[at] === '[') {
      const set = /^\[(!|\^)?(\]?[^\]]*)\]/.exec(rest);
      if (!set) made += '\\[';
      else {
        made += `(?!/)[${set[1] ? '^' : ''}${set[2]!.replace(/[\\[\]^]/g, '\\$&')}]`;
        at += set[0].length - 1;
      }
    } else {
      if (text[at] === '\\' && at + 1 < text.length) at++;
      made += text[at]!.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
    }
  }
  return made;
}
