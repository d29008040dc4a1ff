import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { newId } from '../../core/ids.ts';
import { Child } from './child.ts';
import { folderUrl, launchDeno, type Place } from './deno.ts';
import { fencesFor } from './fences.ts';
import cells from './guest/cells.py' with { type: 'text' };
import python from './guest/python.mjs' with { type: 'text' };
import { type Base, Session } from './session.ts';
import { lockOf } from './wheels.ts';

export interface WorkshopOptions extends Omit<Place, 'emptyFolder' | 'fences'> {
  /** Where snapshots are kept. */
  readonly folder: string;
  readonly memoryMb: number;
  readonly cellSeconds: number;
}

/** Where it cannot be measured; more than it takes on machines with few cores. */
const OWN_MEMORY_MB = 2_048;
/** So much more than code gets the engine below it, which would not survive without. */
const SPARE_MB = 128;
/** The bound while only the engine starts and no code of a caller runs. */
const UNMEASURED_MB = 16_384;
const SNAPSHOT_MS = 120_000;
const SNAPSHOT_CPU_SECONDS = 300;
const MOST_SNAPSHOT_BYTES = 256 << 20;
const DAY_MS = 86_400_000;

/**
 * Makes what every sandbox starts from: a snapshot of Python as it is after its start, once for each version of Pyodide,
 * and the memory that Deno reserves on this machine, which is not what code may use and is measured once for each Deno.
 */
export async function prepare({ folder, memoryMb, cellSeconds, ...rest }: WorkshopOptions): Promise<Base> {
  const emptyFolder = join(folder, 'empty');
  await mkdir(emptyFolder, { recursive: true, mode: 0o700 });
  const place: Place = { ...rest, emptyFolder, fences: await fencesFor(rest.deno) };
  const lock = await lockOf(place);
  const snapshot = join(folder, `${await versionOf(place)}.snapshot`);
  if (!existsSync(snapshot)) {
    await makeSnapshot(place, lock, snapshot);
    await sweep(folder, snapshot);
  }
  const baseWith = (mostMb: number): Base => ({
    open: (cpuSeconds) => new Child(launchDeno({ ...place, snapshot, memoryMb: mostMb, cpuSeconds })),
    start: { ...startHeader(place, lock), snapshot },
    sources: [pythonThread],
    codeMb: memoryMb,
    cellMs: cellSeconds * 1_000,
    close: () => {},
  });
  const ownMb = await ownMemoryOf(await measureOf(snapshot, place, lock), baseWith(UNMEASURED_MB));
  return baseWith(ownMb + memoryMb + SPARE_MB);
}

const [pythonThread, cellsSource] = [python, cells].map((text) => new TextEncoder().encode(text)) as [
  Uint8Array,
  Uint8Array,
];

const startHeader = ({ pyodide, wheels }: Place, lock: string) => ({
  pyodide: folderUrl(pyodide),
  wheels: wheels && folderUrl(wheels),
  lock,
});

/** A snapshot fits the very files it was made with. */
async function versionOf({ deno, pyodide }: Place): Promise<string> {
  const hash = createHash('sha256');
  for (const name of ['package.json', 'pyodide.mjs', 'pyodide.asm.mjs'])
    hash.update(await readFile(join(pyodide, name)));
  hash.update(pythonThread).update(cellsSource).update(deno);
  return hash.digest('hex').slice(0, 32);
}

async function makeSnapshot(place: Place, lock: string, file: string): Promise<void> {
  const limits = { memoryMb: UNMEASURED_MB, cpuSeconds: SNAPSHOT_CPU_SECONDS };
  const child = new Child(launchDeno({ ...place, ...limits, snapshot: null }));
  const draft = `${file}-${newId()}`;
  try {
    const header = { type: 'make-snapshot', ...startHeader(place, lock) };
    const answer = await child
      .ask(header, [pythonThread, cellsSource], SNAPSHOT_MS)
      .catch((error) => complain(child, error));
    const { sizes = [], reason = 'no snapshot' } = answer as { sizes?: number[]; reason?: string };
    const [size] = sizes;
    if (!size || size > MOST_SNAPSHOT_BYTES) throw new Error(reason);
    const handle = await open(draft, 'wx', 0o600);
    try {
      for await (const piece of child.take(size)) await handle.write(piece);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, file);
  } finally {
    child.kill();
    await rm(draft, { force: true });
  }
}

/** Removes what other versions and killed processes have left. Young files may be of others that are at it right now. */
async function sweep(folder: string, current: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const file = join(folder, name);
    const isLeft =
      /\.(snapshot|memory)/.test(name) && file !== current && (await stat(file)).mtimeMs < Date.now() - DAY_MS;
    if (isLeft) await rm(file, { force: true });
  }
}

/** The file for what was measured of this very Deno, with these packages and so many threads. */
async function measureOf(snapshot: string, { deno }: Place, lock: string): Promise<string> {
  const { size, mtimeMs } = await stat(deno);
  const of = [basename(snapshot), deno, size, mtimeMs, availableParallelism(), lock].join('\n');
  return join(dirname(snapshot), `${createHash('sha256').update(of).digest('hex').slice(0, 32)}.memory`);
}

async function measuredIn(file: string): Promise<number | null> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return /^[1-9]\d{0,5}$/.test(text) ? Number(text) : null;
}

/** Starts one in which no code will run, unless its memory was measured before. */
async function ownMemoryOf(file: string, base: Base): Promise<number> {
  const known = await measuredIn(file);
  if (known !== null) return known;
  const session = new Session(base, { threadId: 'none', workspaceId: 'none' as Session['workspaceId'] });
  try {
    await session.start().catch((error) => complain(session.child, error));
    const reserved = /^VmData:\s+(\d+) kB/m.exec(readFileSync(`/proc/${session.child.pid}/status`, 'utf8'))?.[1];
    const ownMb = reserved ? Math.ceil(Number(reserved) / 1_024) : OWN_MEMORY_MB;
    const draft = `${file}-${newId()}`;
    await writeFile(draft, String(ownMb), { mode: 0o600 });
    await rename(draft, file);
    return ownMb;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return OWN_MEMORY_MB;
    throw error;
  } finally {
    session.child.kill();
  }
}

async function complain(child: Child, error: unknown): Promise<never> {
  child.kill();
  await child.exited;
  throw new Error(`${error instanceof Error ? error.message : error}${child.complaint && `: ${child.complaint}`}`);
}
