import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { installedPackage, layout } from '../../core/program.ts';
import type { Place } from './deno.ts';

export interface Named {
  /** Null: the ones that were installed with the gateway. */
  readonly deno: string | null;
  readonly pyodide: string | null;
  readonly wheels: string | null;
}

export type Found = { readonly place: Omit<Place, 'emptyFolder' | 'fences'> } | { readonly problem: string };

const DENO = `@deno/linux-${process.arch}-glibc`;

/** Deno and Pyodide: where the operator says, beside the executable, or where npm puts them. */
export function findSandbox({ deno, pyodide, wheels }: Named): Found {
  // The limit on memory is one that other systems do not hold.
  if (process.platform !== 'linux') return { problem: 'it runs on Linux only' };
  const place = { deno: deno ?? installed('deno'), pyodide: pyodide ?? installed('pyodide'), wheels };
  if (!existsSync(place.deno))
    return {
      problem: `there is no Deno at ${place.deno}; install ${DENO} beside the gateway, or set GATEWAY_INTERPRETER_DENO`,
    };
  if (!existsSync(join(place.pyodide, 'pyodide.asm.wasm')))
    return { problem: `there is no Pyodide in ${place.pyodide}; set GATEWAY_INTERPRETER_PYODIDE` };
  if (wheels !== null && !existsSync(wheels))
    return { problem: `there is no folder ${wheels}, which GATEWAY_INTERPRETER_WHEELS names` };
  return { place };
}

function installed(what: 'deno' | 'pyodide'): string {
  if (layout === 'executable') return join(dirname(process.execPath), what);
  return what === 'deno' ? join(installedPackage(DENO), 'deno') : installedPackage('pyodide');
}
