import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import fence from './guest/fence.pl' with { type: 'text' };
import { systemCalls } from './seccomp.ts';

/**
 * The second fence: Deno's permissions are the first. What code can do that gets past them is decided by the kernel, as far
 * as this machine lets a process restrict itself.
 */
export interface Fence {
  readonly name: 'namespaces' | 'files' | 'system calls';
  /** What it keeps code from, for operators. */
  readonly keeps: string;
  /** Null: it holds. */
  readonly missing: string | null;
}

export interface Fences {
  readonly all: readonly Fence[];
  /** The command with the fences around it that hold here. Of files it can read only these, and those of the system. */
  around(command: readonly string[], readable: readonly string[]): string[];
  /** Whether the process that is started has the program as its child. */
  readonly hasParent: boolean;
}

const FOLDERS = ['/usr/bin', '/bin', '/usr/local/bin', '/usr/sbin', '/sbin'];
export const installedTool = (name: string): string | null =>
  FOLDERS.map((folder) => join(folder, name)).find((path) => existsSync(path)) ?? null;

/** Programs need them to start; nothing in there is a secret of the gateway. */
const SYSTEM = ['/lib', '/lib64', '/usr/lib', '/usr/lib64', '/etc/ld.so.cache', '/dev/null', '/dev/urandom'];

/** Each with less than the one before: containers often forbid to mount, some to make namespaces at all. */
const NAMESPACES: readonly (readonly string[])[] = [
  ['--user', '--map-root-user', '--net', '--ipc', '--uts', '--pid', '--fork', '--kill-child', '--mount-proc'],
  ['--user', '--map-root-user', '--net', '--ipc', '--uts', '--pid', '--fork', '--kill-child'],
  ['--net', '--ipc', '--uts', '--pid', '--fork', '--kill-child', '--mount-proc'],
];

async function works(command: readonly string[]): Promise<string | null> {
  try {
    const child = Bun.spawn([...command], { env: {}, stdin: 'ignore', stdout: 'ignore', stderr: 'pipe' });
    const [said, code] = await Promise.all([child.stderr.text(), child.exited]);
    return code === 0 ? null : said.replaceAll(/\s+/g, ' ').trim().slice(0, 200) || `it ended with ${code}`;
  } catch (error) {
    return String(error);
  }
}

/** Tries what this machine allows. Nothing is taken for granted: each fence was put up once around a program that does nothing. */
export async function findFences(tool = installedTool): Promise<Fences> {
  const [nothing, unshare, perl] = [tool('true'), tool('unshare'), tool('perl')];
  const calls = systemCalls();
  const fenced = (options: { landlock: number; filter: string; readable: readonly string[] }): string[] => [
    ...[perl!, '-e', fence, String(calls!.prctl), String(calls!.capset)],
    ...[options.filter, String(options.landlock), ...options.readable, '--'],
  ];
  const noPerl = perl
    ? calls
      ? null
      : `it is not known for machines of the kind ${process.arch}`
    : 'there is no perl';

  const namespaces = await firstThatWorks(unshare, nothing);
  const landlock = noPerl === null ? await landlockVersion(perl!) : 0;
  const files =
    noPerl ??
    (landlock <= 0
      ? 'this kernel has no Landlock'
      : await works([...fenced({ landlock, filter: '', readable: [...SYSTEM, nothing!] }), nothing!]));
  const filter = noPerl ?? (await works([...fenced({ landlock: 0, filter: calls!.filter, readable: [] }), nothing!]));
  const held = {
    landlock: files === null ? landlock : 0,
    filter: filter === null ? calls!.filter : '',
  };

  return {
    all: [
      {
        name: 'namespaces',
        keeps: `no network, no shared memory, ${namespaces.includes('--mount-proc') ? 'no sight of other processes' : 'no way to other processes'}`,
        missing: typeof namespaces === 'string' ? namespaces : null,
      },
      { name: 'files', keeps: 'no file but its own: no data dir, no devices, nothing written', missing: files },
      { name: 'system calls', keeps: 'no sockets, no processes, no signals, no privileges', missing: filter },
    ],
    hasParent: typeof namespaces !== 'string',
    around: (command, readable) => [
      ...(typeof namespaces === 'string' ? [] : [unshare!, ...namespaces, '--']),
      ...(noPerl === null ? fenced({ ...held, readable: [...SYSTEM, command[0]!, ...readable] }) : []),
      ...command,
    ],
  };
}

async function firstThatWorks(unshare: string | null, nothing: string | null): Promise<readonly string[] | string> {
  if (!unshare || !nothing) return 'there is no unshare';
  let why = '';
  for (const flags of NAMESPACES) {
    const fault = await works([unshare, ...flags, '--', nothing]);
    if (fault === null) return flags;
    why ||= fault;
  }
  return why;
}

async function landlockVersion(perl: string): Promise<number> {
  const child = Bun.spawn([perl, '-e', 'print syscall(444, 0, 0, 1)'], { env: {}, stdin: 'ignore', stdout: 'pipe' });
  return Number(await child.stdout.text()) || 0;
}

/** For programs that bring fences of their own. */
const NO_FENCES: Fences = { all: [], hasParent: false, around: (command) => [...command] };

const BY_OPERATOR = 'GATEWAY_INTERPRETER_DENO is a script, which is to bring its own';

let found: Promise<Fences> | null = null;

/** The same for as long as this process lives. An operator's script around Deno needs more than Deno does. */
export async function fencesFor(deno: string): Promise<Fences> {
  found ??= findFences();
  if (!isScript(deno)) return found;
  return { ...NO_FENCES, all: (await found).all.map((each) => ({ ...each, missing: BY_OPERATOR })) };
}

function isScript(path: string): boolean {
  const start = Buffer.alloc(2);
  const file = openSync(path, 'r');
  try {
    readSync(file, start, 0, 2, 0);
  } finally {
    closeSync(file);
  }
  return start.toString('latin1') === '#!';
}

export const missingFences = ({ all }: Fences): Fence[] => all.filter(({ missing }) => missing !== null);
