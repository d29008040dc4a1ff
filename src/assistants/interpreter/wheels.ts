import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { strFromU8, unzipSync } from 'fflate';
import type { Place } from './deno.ts';
import type { PythonAbout } from './jail.ts';

/** Packages as Pyodide lists them. */
interface Package {
  readonly name: string;
  readonly version: string;
  readonly file_name: string;
  readonly sha256: string;
  readonly imports: readonly string[];
  readonly depends: readonly string[];
  readonly install_dir: string;
  readonly package_type: string;
  readonly unvendored_tests: boolean;
}

interface Lock {
  readonly info: { readonly python: string };
  readonly packages: Readonly<Record<string, Package>>;
}

/**
 * The list of packages for Python: those of Pyodide's own list that lie in the operator's folder, and whatever wheels lie
 * there beside them. A package that is in no list is missing, and an import says so.
 */
export async function lockOf({ pyodide, wheels }: Pick<Place, 'pyodide' | 'wheels'>): Promise<string> {
  const { info, packages } = JSON.parse(await readFile(join(pyodide, 'pyodide-lock.json'), 'utf8')) as Lock;
  const present = new Set(wheels === null ? [] : await readdir(wheels));
  const found: Record<string, Package> = {};
  for (const [name, each] of Object.entries(packages)) if (present.delete(each.file_name)) found[name] = each;
  for (const file of [...present].filter((name) => name.endsWith('.whl')).sort()) {
    const described = await describe(join(wheels!, file), file);
    found[described.name] ??= described;
  }
  for (const [name, each] of Object.entries(found))
    found[name] = { ...each, depends: each.depends.filter((needed) => found[needed]) };
  return JSON.stringify({ info, packages: found });
}

/** What code finds: the version of Python, and of each package. */
export async function aboutOf(place: Pick<Place, 'pyodide' | 'wheels'>): Promise<PythonAbout> {
  const { info, packages } = JSON.parse(await lockOf(place)) as Lock;
  const versions = Object.values(packages).map(({ name, version }) => [name, version] as const);
  return { version: info.python, packages: Object.fromEntries(versions) };
}

/** What a wheel says of itself. */
async function describe(path: string, file: string): Promise<Package> {
  const bytes = await readFile(path);
  const names: string[] = [];
  const isMetadata = (name: string) => /^[^/]+\.dist-info\/METADATA$/.test(name);
  let metadata = '';
  try {
    const entries = unzipSync(bytes, {
      filter: ({ name }) => {
        names.push(name);
        return isMetadata(name);
      },
    });
    metadata = Object.values(entries).map((entry) => strFromU8(entry))[0] ?? '';
  } catch {
    throw new Error(`${file} in the folder of wheels is no wheel`);
  }
  const [name = file, version = '0'] = file.split('-');
  return {
    name: normal(name),
    version,
    file_name: file,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    imports: importsOf(names),
    depends: dependsOf(metadata),
    install_dir: 'site',
    package_type: 'package',
    unvendored_tests: false,
  };
}

const normal = (name: string): string => name.toLowerCase().replaceAll(/[-_.]+/g, '-');

/** The modules and packages at the top of a wheel. */
function importsOf(names: readonly string[]): string[] {
  const tops = names.map((name) => {
    const [top = '', ...rest] = name.split('/');
    return rest.length > 0 ? top : top.endsWith('.py') || top.endsWith('.so') ? top.slice(0, top.indexOf('.')) : '';
  });
  return [...new Set(tops)].filter((top) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(top));
}

/** What it needs in any case. A requirement with a marker is left out: code that wants it names the package itself. */
const dependsOf = (metadata: string): string[] =>
  [...metadata.matchAll(/^Requires-Dist: *([A-Za-z0-9._-]+)([^;\r\n]*)\r?$/gm)].map(([, name]) => normal(name!));
