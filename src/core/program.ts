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

/** Where npm has put packages. An executable has none. */
export const installedPackages = (): string =>
  fileURLToPath(new URL(`${MAIN}${layout === 'bundle' ? '../../' : '../'}node_modules`, import.meta.url));
