import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Launch } from './child.ts';
import type { Fences } from './fences.ts';
import guardian from './guest/guardian.mjs' with { type: 'text' };

/** What a sandbox is made of. */
export interface Place {
  /** The executable of Deno. */
  readonly deno: string;
  /** The folder of Pyodide. */
  readonly pyodide: string;
  /** The operator's folder of wheels. Code can read whatever lies there. */
  readonly wheels: string | null;
  /** A folder in which nothing lies. */
  readonly emptyFolder: string;
  /** What the kernel holds beside what Deno does. */
  readonly fences: Fences;
}

export interface DenoOptions extends Place {
  /** The file from which Python starts; null: it starts by itself. */
  readonly snapshot: string | null;
  /** What the process may have, with what Deno reserves for itself. */
  readonly memoryMb: number;
  readonly cpuSeconds: number;
}

const V8_HEAP_MB = 256;

const PYODIDE_FILES = ['pyodide.mjs', 'pyodide.asm.mjs', 'pyodide.asm.wasm', 'python_stdlib.zip'];

/** Whatever cannot be limited is not started. */
const LIMITED =
  'unset PWD OLDPWD && ulimit -c 0 && ulimit -f 0 && ulimit -n 64 && ulimit -d "$1" && ulimit -t "$2" && shift 2 && exec nice -n 10 "$@"';

/**
 * Deno without permissions: it reads the files of Pyodide, the wheels and a snapshot, and has no network, environment,
 * processes, libraries, system calls or other files. Its cache would be a place to write to and to find what others have
 * written: it has none.
 */
function commandOf({ deno, pyodide, wheels, snapshot, fences, memoryMb, cpuSeconds }: DenoOptions): string[] {
  const readable = [...PYODIDE_FILES.map((name) => join(pyodide, name)), wheels, snapshot].filter(
    (path) => path !== null,
  );
  const denied = ['net', 'env', 'run', 'ffi', 'sys', 'write', 'import'].map((name) => `--deny-${name}`);
  const closed = ['--no-prompt', '--no-config', '--no-lock', '--no-remote', '--no-npm', '--cached-only'];
  const flags = [
    '--quiet',
    '--no-code-cache',
    `--v8-flags=--max-old-space-size=${V8_HEAP_MB},--freeze-flags-after-init`,
  ];
  const script = `data:text/javascript;base64,${Buffer.from(guardian).toString('base64')}`;
  const dataKb = String(memoryMb * 1_024);
  const limits = ['/bin/sh', '-c', LIMITED, 'sandbox', dataKb, String(cpuSeconds)];
  const permitted = `--allow-read=${readable.map((path) => path.replaceAll(',', ',,')).join(',')}`;
  return [...limits, ...fences.around([deno, 'run', ...closed, ...denied, ...flags, permitted, script], readable)];
}

const ENVIRONMENT = { DENO_DIR: '/dev/null/none' };

export const launchDeno = (options: DenoOptions): Launch => ({
  command: commandOf(options),
  folder: options.emptyFolder,
  environment: ENVIRONMENT,
  hasParent: options.fences.hasParent,
  filter: null,
});

/** As the guest names folders: they end like folders. */
export const folderUrl = (path: string): string => `${pathToFileURL(path).href.replace(/\/+$/, '')}/`;
