import { createHash } from 'node:crypto';
import { createReadStream, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';

export const MANIFEST = 'manifest.json';

const manifestSchema = z.strictObject({
  format: z.literal(1),
  /** Of the program that made it. */
  version: z.string(),
  made_at: z.string(),
  /** Its files are sealed; lengths and digests are those of the sealed files. */
  sealed: z.literal(true).optional(),
  /** By path below the backup, with slashes. */
  files: z.record(z.string(), z.strictObject({ bytes: z.int().min(0), sha256: z.string().regex(/^[0-9a-f]{64}$/) })),
});

/** What a backup consists of. It is written last: a folder without it is no backup. */
export type Manifest = z.infer<typeof manifestSchema>;

export async function manifestOf(
  folder: string,
  { version, isSealed, onFile }: { version: string; isSealed: boolean; onFile: () => void },
): Promise<Manifest> {
  const files: Manifest['files'] = {};
  for (const path of pathsIn(folder)) {
    files[path] = { bytes: statSync(join(folder, path)).size, sha256: await digestOf(join(folder, path)) };
    onFile();
  }
  return { format: 1, version, made_at: new Date().toISOString(), ...(isSealed && { sealed: true }), files };
}

/** Every file below a folder, in order. */
export const pathsIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) =>
      join(parentPath, name)
        .slice(folder.length + 1)
        .replaceAll('\\', '/'),
    )
    .filter((path) => path !== MANIFEST)
    .toSorted();

export function readManifest(folder: string): Manifest {
  let text: string;
  try {
    text = readFileSync(join(folder, MANIFEST), 'utf8');
  } catch {
    throw new Error(`${folder} holds no ${MANIFEST}: it is no backup, or one that did not come to its end.`);
  }
  const read = manifestSchema.safeParse(parsed(text));
  if (!read.success) throw new Error(`${join(folder, MANIFEST)} is damaged: ${z.prettifyError(read.error)}`);
  const strange = Object.keys(read.data.files).find((path) => path.split('/').includes('..') || path.startsWith('/'));
  if (strange) throw new Error(`${join(folder, MANIFEST)} names ${strange}, which lies outside.`);
  return read.data;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** What differs from the manifest, or null. */
export async function damageIn(folder: string, { files }: Manifest, onFile: () => void): Promise<string | null> {
  for (const [path, { bytes, sha256 }] of Object.entries(files)) {
    const file = join(folder, path);
    const found = statSync(file, { throwIfNoEntry: false });
    if (!found) return `${path} is missing`;
    if (found.size !== bytes || (await digestOf(file)) !== sha256) return `${path} was changed`;
    onFile();
  }
  return null;
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of createReadStream(file)) hash.update(piece as Buffer);
  return hash.digest('hex');
}
