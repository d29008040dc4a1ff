import { createHash } from 'node:crypto';
import { createReadStream, realpathSync, statSync } from 'node:fs';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { basename, join, resolve, sep } from 'node:path';
import { type IgnoreFile, readIgnoreFile } from './ignore.ts';
import {
  type Choice,
  type FetchedFile,
  HEAD_BYTES,
  type LeftOut,
  obstacleTo,
  requireFew,
  type Source,
  type SourceFile,
} from './source.ts';

export interface FolderOptions {
  /** Whether what .gitignore names is left out. */
  readonly gitignore: boolean;
}

/** What the .gitignore files of a folder and of those above it say, the innermost last. */
type Ignores = readonly { readonly below: string; readonly file: IgnoreFile }[];

/** Files of a folder of this machine. */
export function folderSource(given: string, { gitignore }: FolderOptions): Source {
  let root: string;
  try {
    root = realpathSync(resolve(given));
  } catch (error) {
    throw new Error(`The folder ${given} cannot be read (${codeOf(error)}).`);
  }
  if (!statSync(root).isDirectory()) throw new Error(`${given} is not a folder.`);

  const files: SourceFile[] = [];
  const leftOut: LeftOut[] = [];

  const take = async (path: string) => {
    const at = join(root, path);
    const { size } = await stat(at);
    const obstacle = obstacleTo(path, size);
    if (obstacle) return void leftOut.push(obstacle);
    requireFew(files.length + 1);
    files.push({ path, ...(await readAt(at)) });
  };

  /** A link to a file of this folder is that file; whatever lies elsewhere was not given to us. */
  const takeLink = async (path: string) => {
    const target = await realpath(join(root, path)).catch(() => null);
    if (target === null) leftOut.push({ path, why: 'is a link that leads nowhere', isFault: false });
    else if (!target.startsWith(root + sep)) leftOut.push({ path, why: 'is a link out of the folder', isFault: false });
    else if (!(await stat(target)).isFile()) leftOut.push({ path, why: 'is a link to a folder', isFault: false });
    else await take(path);
  };

  const walk = async (folder: string, choice: Choice, above: Ignores): Promise<void> => {
    const entries = await readdir(join(root, folder), { withFileTypes: true }).catch((error) => {
      // Its files would look as though they were gone.
      throw new Error(`${join(given, folder)} cannot be read (${codeOf(error)}): nothing was changed.`);
    });
    const own = gitignore && entries.some(({ name }) => name === '.gitignore');
    const below = folder === '' ? '' : `${folder}/`;
    const ignores = own
      ? [...above, { below, file: readIgnoreFile(await readFile(join(root, folder, '.gitignore'), 'utf8')) }]
      : above;
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = below + entry.name;
      if (isIgnored(ignores, path, entry.isDirectory())) continue;
      if (entry.isDirectory()) {
        if (choice.enters(path)) await walk(path, choice, ignores);
      } else if (!choice.takes(path)) continue;
      else if (entry.isSymbolicLink()) await takeLink(path);
      else if (entry.isFile()) await take(path);
      else leftOut.push({ path, why: 'is not a regular file', isFault: false });
    }
  };

  return {
    name: `folder:${basename(root)}`,
    list: async (choice) => {
      await walk('', choice, []);
      return { files, leftOut };
    },
    fetch: async ({ path }) => {
      const at = join(root, path);
      try {
        return { at, ...(await readAt(at)), release: () => {} };
      } catch (error) {
        if ((error as { code?: string }).code === 'ENOENT') return null;
        throw error;
      }
    },
    close: () => {},
  };
}

function isIgnored(ignores: Ignores, path: string, isFolder: boolean): boolean {
  for (const { below, file } of ignores.toReversed()) {
    const verdict = file.verdict(path.slice(below.length), isFolder);
    if (verdict) return verdict === 'ignored';
  }
  return false;
}

const codeOf = (error: unknown): string => (error as { code?: string }).code ?? 'unknown reason';

/** A file's size, digest and beginning, in one reading. */
export async function readAt(at: string): Promise<Pick<FetchedFile, 'bytes' | 'digest' | 'head'>> {
  const hash = createHash('sha256');
  let bytes = 0;
  let head = Buffer.alloc(0);
  for await (const piece of createReadStream(at) as AsyncIterable<Buffer>) {
    hash.update(piece);
    bytes += piece.byteLength;
    if (head.byteLength < HEAD_BYTES) head = Buffer.concat([head, piece.subarray(0, HEAD_BYTES - head.byteLength)]);
  }
  return { bytes, digest: `sha256:${hash.digest('hex')}`, head };
}
