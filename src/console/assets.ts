import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { layout, ownFile } from '../core/program.ts';

export type Encoding = 'br' | 'gzip';
const ENDING: Readonly<Record<Encoding, string>> = { br: '_br.z', gzip: '_gz.z' };

/** What a browser begins with: it names all other files that it will need. */
export interface Beginning {
  readonly file: string;
  readonly etag: string;
}

interface Manifest {
  /** For people who are not signed in. */
  readonly visitors: Beginning;
  /** By where they are below `/console`; `$name` is a parameter. */
  readonly pages: readonly (Beginning & { readonly path: string })[];
  readonly files: Readonly<Record<string, { readonly type: string }>>;
}

/** The built console. What is in a file is read when a browser asks for it, and not kept. */
export interface Assets {
  /** What a visitor begins with, or a user who opens the page at that path below `/console`. */
  beginning(path: string, isVisitor: boolean): Beginning;
  typeOf(name: string): string | null;
  open(name: string, encoding: Encoding): Blob;
}

/** The files of the console, as they lie in a folder or inside the executable. */
type Opener = (file: string) => Blob;

async function assetsIn(open: Opener): Promise<Assets> {
  const { visitors, pages, files }: Manifest = JSON.parse(
    new TextDecoder().decode(gunzipSync(await open('manifest.json_gz.z').arrayBuffer())),
  );
  const patterns = pages.map((page) => ({ page, parts: partsOf(page.path) }));
  const pageAt = (path: string): Beginning => {
    const asked = partsOf(path);
    const isMeant = (parts: readonly string[]) =>
      parts.length === asked.length && parts.every((part, at) => part.startsWith('$') || part === asked[at]);
    // Where there is no page, the shell says so; every page brings the shell along.
    return (patterns.find(({ parts }) => isMeant(parts)) ?? patterns[0]!).page;
  };
  return {
    beginning: (path, isVisitor) => (isVisitor ? visitors : pageAt(path)),
    typeOf: (name) => (Object.hasOwn(files, name) ? files[name]!.type : null),
    open: (name, encoding) => open(name + ENDING[encoding]),
  };
}

const partsOf = (path: string): string[] => path.split('/').filter((part) => part !== '');

const inFolder =
  (folder: string): Opener =>
  (file) =>
    Bun.file(join(folder, file));

const inExecutable: Opener = (file) => Bun.embeddedFiles.find((blob) => (blob as File).name === file) ?? missing(file);

function missing(file: string): never {
  throw new Error(`This executable was built without the file ${file} of the console.`);
}

/** Beside the bundle, inside the executable, or made from the sources as they are at this moment. */
export function findAssets(): () => Promise<Assets> {
  if (layout === 'source') return fromSources();
  let found: Promise<Assets> | null = null;
  const open = layout === 'executable' ? inExecutable : inFolder(fileURLToPath(new URL('./console', ownFile('main'))));
  return () => {
    found ??= assetsIn(open);
    return found;
  };
}

/** For developers and tests: built when a page is asked for, and again when a source has changed. */
function fromSources(): () => Promise<Assets> {
  const home = fileURLToPath(new URL('../', ownFile('main')));
  let last: { readonly folder: string; readonly assets: Promise<Assets> } | null = null;
  return () => {
    const folder = join(home, 'dist', `console-${versionOf(home)}`);
    if (last?.folder !== folder) {
      const assets = madeFromSources(home, folder).then(() => assetsIn(inFolder(folder)));
      assets.catch(() => {
        last = null;
      });
      last = { folder, assets };
    }
    return last.assets;
  };
}

function versionOf(home: string): string {
  const hash = new Bun.CryptoHasher('sha256').update(Bun.version);
  const sources = readdirSync(join(home, 'web'), { recursive: true, encoding: 'utf8' }).map((file) => `web/${file}`);
  for (const file of [...sources.sort(), 'package-lock.json']) {
    const found = statSync(join(home, file));
    if (found.isFile()) hash.update(`${file} ${found.size} ${found.mtimeMs}\n`);
  }
  return hash.digest('hex').slice(0, 16);
}

async function madeFromSources(home: string, folder: string): Promise<void> {
  if (existsSync(folder)) return;
  const draft = `${folder}-${process.pid}`;
  const child = Bun.spawn([process.execPath, join(home, 'web/build.ts'), draft], { stdout: 'ignore', stderr: 'pipe' });
  const said = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(`The console cannot be built: ${said}`);
  try {
    renameSync(draft, folder);
  } catch (error) {
    // Another process was first, with the same.
    rmSync(draft, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
  sweep(dirname(folder));
}

const HOUR_MS = 3_600_000;

/** Removes those of sources that have changed since. A young one may be in use. */
function sweep(dist: string): void {
  for (const name of readdirSync(dist).filter((each) => each.startsWith('console-'))) {
    const madeAt = statSync(join(dist, name), { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (madeAt < Date.now() - HOUR_MS) rmSync(join(dist, name), { recursive: true, force: true });
  }
}
