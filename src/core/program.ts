import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** How the program lies here: as it was written, as the bundle that `npm install` makes, or inside an executable. */
export type Layout = 'source' | 'bundle' | 'executable';

export const layout: Layout = layoutOf(import.meta.url);

function layoutOf(url: string): Layout {
  if (url.includes('/$bunfs/') || url.includes('~BUN')) return 'executable';
  return url.endsWith('/src/core/program.ts') ? 'source' : 'bundle';
}

/** From this file to the folder of `main`. In a bundle and in an executable, all code lies beside it. */
const MAIN = layout === 'source' ? '../' : './';

/** The address of a file of ours that is loaded by itself, such as a worker: `telemetry/log-worker`. */
export const ownFile = (name: string): URL =>
  new URL(`${MAIN}${name}.${layout === 'bundle' ? 'js' : 'ts'}`, import.meta.url);

/** How this program is called again, without what follows. */
export const ownCommand = (): string[] =>
  layout === 'executable' ? [process.execPath] : [process.execPath, fileURLToPath(ownFile('main'))];

/**
 * Where npm has put a package: beside the program, or above it where the gateway is a package itself. A package that is
 * nowhere is said to be beside the program. An executable has none.
 */
export function installedPackage(name: string): string {
  const home = fileURLToPath(new URL(`${MAIN}${layout === 'bundle' ? '../../' : '../'}`, import.meta.url));
  const beside = join(home, 'node_modules', name);
  for (let folder = home; ; folder = dirname(folder)) {
    const place = join(folder, 'node_modules', name);
    if (existsSync(place)) return place;
    if (folder === dirname(folder)) return beside;
  }
}
