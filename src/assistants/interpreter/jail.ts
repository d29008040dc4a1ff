import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { newId } from '../../core/ids.ts';
import { Child, type Launch } from './child.ts';
import { installedTool } from './fences.ts';
import cells from './guest/cells.py' with { type: 'text' };
import native from './guest/native.py' with { type: 'text' };
import { systemCalls } from './seccomp.ts';
import type { Base } from './session.ts';

/** What a jail is made of: a Python of this machine, and what the kernel is asked to put around it. */
export interface JailPlace {
  /** The executable of Bubblewrap. */
  readonly bwrap: string;
  /** The executable of the Python that the operator has chosen. */
  readonly python: string;
}

export interface JailOptions {
  readonly python: string;
  /** Unless given, the one that is installed. */
  readonly bwrap?: string;
  /** Where the filter of system calls lies, and what Python has found out about fonts. */
  readonly folder: string;
  readonly memoryMb: number;
  readonly cellSeconds: number;
}

/** What code finds in a sandbox. */
export interface PythonAbout {
  readonly version: string;
  /** Versions by names. */
  readonly packages: Readonly<Record<string, string>>;
}

/** No jail can be put up here: the operator has to know. */
export class NoJail extends Error {
  override readonly name = 'NoJail';
}

/** The working folder with what was given and what was written; it is memory, and so is the folder for drafts. */
export const WORK_BYTES = 256 << 20;
const DRAFT_BYTES = 64 << 20;
/** Python itself, and what its packages reserve without using it. */
const OWN_MB = 256;
/** Files that are mapped, such as libraries: they count as addresses and not as memory. */
const MAPPED_MB = 1_024;
const FILE_BLOCKS = WORK_BYTES / 512;
/** What code that means well has: threads of numerical libraries, files that it unpacks. */
export const MOST_THREADS = 64;
export const MOST_FILES = 50_000;
const WATCH_MS = 250;
/** A caller waits less for a Python that has loaded these before. */
const WARM = ['numpy', 'pandas', 'matplotlib.pyplot'];
const SPARE_MS = 120_000;
const PROBE_MS = 60_000;

/** Whatever cannot be limited is not started. */
const LIMITED =
  'unset PWD OLDPWD && ulimit -c 0 && ulimit -n 64 && ulimit -f "$1" && ulimit -d "$2" && ulimit -v "$3" && ulimit -t "$4" && shift 4 && exec nice -n 10 "$@"';

/** Nothing of it is the operator's. The order of sets is the same each time, and no library starts a thread per core. */
const ENVIRONMENT: Readonly<Record<string, string>> = {
  HOME: '/mnt/data',
  LANG: 'C.UTF-8',
  MPLBACKEND: 'agg',
  MPLCONFIGDIR: '/tmp/matplotlib',
  XDG_CACHE_HOME: '/tmp/cache',
  XDG_CONFIG_HOME: '/tmp/config',
  PYTHONHASHSEED: '0',
  PYTHONUTF8: '1',
  PYTHONNOUSERSITE: '1',
  PYTHONDONTWRITEBYTECODE: '1',
  PYTHONUNBUFFERED: '1',
  OPENBLAS_NUM_THREADS: '1',
  OMP_NUM_THREADS: '1',
  MALLOC_ARENA_MAX: '2',
};

/** Programs need them to start, and packages to be found; nothing in there is a secret of the gateway. */
const SYSTEM = [
  ...['/lib', '/lib32', '/lib64', '/usr/lib', '/usr/lib32', '/usr/lib64'],
  ...['/etc/ld.so.cache', '/etc/alternatives', '/etc/matplotlibrc', '/etc/localtime'],
  ...['/usr/share/matplotlib', '/usr/share/fonts', '/usr/share/zoneinfo'],
];
const DEVICES = ['/dev/null', '/dev/zero', '/dev/urandom'];

/** Of every path that leads to a file, each link and what it points to. */
function linksTo(path: string): string[] {
  const here = join(realpathSync(dirname(path)), basename(path));
  if (!lstatSync(here).isSymbolicLink()) return [here];
  return [here, ...linksTo(resolve(dirname(here), readlinkSync(here)))];
}

const isBelow = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);

/** Each once, and nothing twice that lies in another. */
function readableFor(paths: readonly string[]): string[] {
  const all = [...new Set(paths.filter((path) => existsSync(path)))];
  return all.filter((path) => !all.some((other) => other !== path && isBelow(path, other)));
}

interface Jail extends JailPlace {
  readonly readable: readonly string[];
  /** The file with the filter of system calls. */
  readonly filter: string;
  /** Matplotlib's list of fonts, which takes seconds to make. */
  readonly fonts: string | null;
  readonly emptyFolder: string;
}

/** What Bubblewrap makes: a machine with one Python, an empty working folder, and nothing else that can be written to. */
function commandOf({ bwrap, python, readable, fonts }: Jail): string[] {
  const tmpfs = (bytes: number, path: string) => ['--size', String(bytes), '--tmpfs', path];
  return [
    bwrap,
    ...['--unshare-user', '--unshare-ipc', '--unshare-pid', '--unshare-net', '--unshare-uts', '--unshare-cgroup-try'],
    ...['--die-with-parent', '--new-session', '--as-pid-1', '--cap-drop', 'ALL', '--seccomp', '3'],
    ...['--uid', '1000', '--gid', '1000', '--hostname', 'sandbox', '--clearenv'],
    ...Object.entries(ENVIRONMENT).flatMap(([name, value]) => ['--setenv', name, value]),
    ...readable.flatMap((path) =>
      lstatSync(path).isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path],
    ),
    ...DEVICES.flatMap((path) => ['--dev-bind', path, path]),
    ...tmpfs(WORK_BYTES, '/mnt/data'),
    ...tmpfs(DRAFT_BYTES, '/tmp'),
    ...(fonts ? ['--ro-bind', fonts, `/tmp/matplotlib/${basename(fonts)}`] : []),
    ...['--remount-ro', '/', '--chdir', '/mnt/data', '--', python, '-s', '-c', native],
  ];
}

function launch(
  jail: Jail,
  what: readonly string[],
  { memoryMb, cpuSeconds }: { memoryMb: number; cpuSeconds: number },
): Launch {
  const dataKb = (memoryMb + OWN_MB) * 1_024;
  const limits = [FILE_BLOCKS, dataKb, dataKb + MAPPED_MB * 1_024, cpuSeconds].map(String);
  return {
    command: ['/bin/sh', '-c', LIMITED, 'sandbox', ...limits, ...commandOf(jail), ...what],
    folder: jail.emptyFolder,
    environment: {},
    hasParent: true,
    filter: jail.filter,
  };
}

/** Puts one jail up and asks the Python in it something. Throws with what stands in the way. */
async function asked(jail: Jail, what: string): Promise<unknown> {
  const { command, folder } = launch(jail, [what], { memoryMb: 512, cpuSeconds: 60 });
  const filter = openSync(jail.filter, 'r');
  const child = Bun.spawn([...command], { cwd: folder, env: {}, stdio: ['ignore', 'pipe', 'pipe', filter] });
  closeSync(filter);
  const timer = setTimeout(() => child.kill('SIGKILL'), PROBE_MS);
  const [said, complaint, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  clearTimeout(timer);
  const why = complaint.replaceAll(/\s+/g, ' ').trim().slice(-300) || `it ended with ${code}`;
  if (code !== 0) throw new NoJail(`${jail.bwrap} cannot put up a jail for ${jail.python} here: ${why}`);
  return JSON.parse(said);
}

/** Where the operator's Python has its packages. */
function askPython(python: string): { executable: string; folders: string[] } {
  const script =
    'import json, sys\nprint(json.dumps([sys.executable, [sys.prefix, sys.base_prefix], [p for p in sys.path if p]]))';
  const { stdout, exitCode } = Bun.spawnSync([python, '-s', '-c', script], { env: {}, stdin: 'ignore' });
  if (exitCode !== 0) throw new NoJail(`${python} is no Python that runs here`);
  const [executable, prefixes, path] = JSON.parse(stdout.toString()) as [string, string[], string[]];
  const own = prefixes.flatMap((prefix) => ['lib', 'lib64', 'pyvenv.cfg'].map((name) => join(prefix, name)));
  return { executable, folders: [...own, ...path] };
}

export interface OpenJail {
  readonly about: PythonAbout;
  prepare(): Promise<Base>;
}

/** Tries it once, so that a gateway that could not keep code in does not start. Throws `NoJail` with the reason. */
export async function openJail(options: JailOptions): Promise<OpenJail> {
  const { python, folder, memoryMb, cellSeconds, bwrap = installedTool('bwrap') } = options;
  if (process.platform !== 'linux') throw new NoJail('it runs on Linux only');
  if (bwrap === null) throw new NoJail('there is no bwrap; install the package bubblewrap');
  for (const path of [bwrap, python]) if (!existsSync(path)) throw new NoJail(`there is no ${path}`);
  const calls = systemCalls(process.arch, 'jail');
  if (!calls) throw new NoJail(`the system calls of machines of the kind ${process.arch} are not known`);
  const { executable, folders } = askPython(python);
  const readable = readableFor([...SYSTEM, ...folders, ...linksTo(executable)]);
  const requireOutside = (own: string) => {
    const within = readable.find((path) => isBelow(own, path) || isBelow(own, realpathSync(path)));
    if (within) throw new NoJail(`the data dir lies in ${within}, which code could read`);
  };
  requireOutside(resolve(folder));
  const emptyFolder = join(folder, 'empty');
  mkdirSync(emptyFolder, { recursive: true, mode: 0o700 });
  requireOutside(realpathSync(folder));
  const filter = join(folder, 'jail-filter');
  writeWhole(filter, Buffer.from(calls.filter, 'hex'));
  const jail: Jail = { bwrap, python: executable, readable, filter, fonts: null, emptyFolder };
  const about = (await asked(jail, 'describe')) as PythonAbout;
  return {
    about,
    prepare: async () => {
      const fonts = about.packages.matplotlib ? await fontsFor(jail, about, folder) : null;
      return baseOf({ ...jail, fonts }, memoryMb, cellSeconds);
    },
  };
}

/** Other processes of this gateway may write the same file. */
function writeWhole(path: string, content: Uint8Array | string): void {
  const draft = `${path}-${newId()}`;
  writeFileSync(draft, content, { mode: 0o600 });
  renameSync(draft, path);
}

/** Made in a jail in which no code of users runs, once for each set of packages. */
async function fontsFor(jail: Jail, about: PythonAbout, folder: string): Promise<string | null> {
  const version = createHash('sha256').update(JSON.stringify(about)).digest('hex').slice(0, 32);
  const home = join(folder, `fonts-${version}`);
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const index = join(home, 'index.json');
  if (!existsSync(index)) {
    const { name, content } = (await asked(jail, 'fonts')) as { name: string | null; content: string };
    if (name) writeWhole(join(home, basename(name)), content);
    writeWhole(index, JSON.stringify({ name }));
  }
  const { name } = JSON.parse(readFileSync(index, 'utf8')) as { name: string | null };
  return name && join(home, basename(name));
}

function baseOf(jail: Jail, memoryMb: number, cellSeconds: number): Base {
  const start = (warm: readonly string[], cpuSeconds: number) => {
    const child = new Child(launch(jail, ['serve', ...warm], { memoryMb, cpuSeconds }));
    watch(child);
    return child;
  };
  const spare = new Spare((cpuSeconds) => start(WARM, cpuSeconds));
  return {
    open: (cpuSeconds) => spare.take(cpuSeconds) ?? start([], cpuSeconds),
    start: {},
    sources: [new TextEncoder().encode(cells)],
    codeMb: memoryMb,
    cellMs: cellSeconds * 1_000,
    close: () => spare.close(),
  };
}

/** A Python that has loaded the usual packages and waits for its first code, for as long as code is run now and then. */
class Spare {
  readonly #start: (cpuSeconds: number) => Child;
  #child: Child | null = null;
  #isWarm = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  constructor(start: (cpuSeconds: number) => Child) {
    this.#start = start;
  }

  /** Null: there is none, or it is not ready and would take longer than another one. */
  take(cpuSeconds: number): Child | null {
    const waiting = this.#child?.isAlive ? this.#child : null;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#end(), SPARE_MS);
    if (waiting && !this.#isWarm) return null;
    if (!this.#isClosed) this.#warmUp(cpuSeconds);
    return waiting;
  }

  #warmUp(cpuSeconds: number): void {
    const child = this.#start(cpuSeconds);
    this.#child = child;
    this.#isWarm = false;
    child.header().then(
      () => {
        if (this.#child === child) this.#isWarm = true;
      },
      () => child.kill(),
    );
  }

  close(): void {
    this.#isClosed = true;
    this.#end();
  }

  #end(): void {
    clearTimeout(this.#timer);
    this.#child?.kill();
    this.#child = null;
  }
}

/** Ends a jail in which there is more of something than the kernel was told to allow, because it cannot be told. */
function watch(child: Child): void {
  const timer = setInterval(() => {
    if (!child.isAlive) return clearInterval(timer);
    if (threadsOf(child.pid) > MOST_THREADS || filesOf(child.pid) > MOST_FILES) child.kill();
  }, WATCH_MS);
  timer.unref();
}

function threadsOf(pid: number): number {
  try {
    return Number(/^Threads:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** In both folders that code can write to. */
function filesOf(pid: number): number {
  try {
    const count = (folder: string) => {
      const { files, ffree } = statfsSync(`/proc/${pid}/root${folder}`);
      return files - ffree;
    };
    return count('/mnt/data') + count('/tmp');
  } catch {
    return 0;
  }
}
