import { resolve } from 'node:path';
import type { Findings } from '../../desired/reading/findings.ts';
import { type Path, readSource, type Source } from '../../desired/reading/source.ts';

/**
 * The file with those that it includes, as LiteLLM puts them together: lists are joined, anything else of an included file
 * takes the place of what stood there. Null: one of them cannot be read, which is a fault.
 */
export function withIncludes(source: Source, folder: string, findings: Findings): Source | null {
  const { include } = (source.value ?? {}) as { include?: unknown };
  if (include === undefined || include === null) return source;
  if (!Array.isArray(include) || !include.every((each) => typeof each === 'string')) {
    findings.fault(source.placeOf(['include']), 'include: give a list of files');
    return null;
  }
  let joined = source;
  for (const file of include) {
    const next = readSource(resolve(folder, file), findings, 'python');
    if (next === null) return null;
    joined = joinedWith(joined, next);
  }
  return joined;
}

function joinedWith(first: Source, second: Source): Source {
  const value = { ...((first.value ?? {}) as Record<string, unknown>) };
  const offsets = new Map<string, number>();
  const fromSecond = new Set<string>();
  for (const [name, member] of Object.entries((second.value ?? {}) as Record<string, unknown>)) {
    const here = value[name];
    if (Array.isArray(here) && Array.isArray(member)) {
      offsets.set(name, here.length);
      value[name] = [...here, ...member];
    } else {
      fromSecond.add(name);
      value[name] = member;
    }
  }
  const placeOf = (path: Path) => {
    const [name, index, ...rest] = path;
    const offset = offsets.get(String(name));
    if (fromSecond.has(String(name))) return second.placeOf(path);
    if (offset === undefined || typeof index !== 'number' || index < offset) return first.placeOf(path);
    return second.placeOf([name!, index - offset, ...rest]);
  };
  return { file: first.file, value, placeOf };
}
