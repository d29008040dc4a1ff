import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Every page of the console, as `web/pages.ts` lists them: read as text, because it is written for browsers. */
export const PAGES: readonly { readonly path: string; readonly scopes: readonly string[] }[] = [
  ...readFileSync(join(import.meta.dir, '../../web/pages.ts'), 'utf8').matchAll(
    /path: '([^']+)',[^}]*?scopes: \[([^\]]*)\]/g,
  ),
].map(([, path, scopes]) => ({ path: path!, scopes: [...scopes!.matchAll(/'([^']+)'/g)].map(([, scope]) => scope!) }));
