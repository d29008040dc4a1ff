import { createHash } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Makes one executable for each kind of machine, on any of them that runs Linux: `npm run executables [target …]`. The Bun of the
 * other machines comes from its package on npm, in the version that package.json names. Each result is looked at: its
 * format, its processor, its C library or its signature, and that our program is in it; what this machine can run is also run.
 */

const root = join(import.meta.dir, '..');
const { version, dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

interface Target {
  /** Of Bun's package for that machine. */
  readonly package: string;
  /** As the header of the file says it. */
  readonly machine: number;
  /** Of Linux. Null: an executable of macOS, which runs only what is signed, if only by whoever made it. */
  readonly loader: string | null;
}

const X64 = 0x3e;
const ARM64 = 0xb7;
const MAC_ARM64 = 0x0100000c;
export const TARGETS: Readonly<Record<string, Target>> = {
  'linux-x64': { package: '@oven/bun-linux-x64', machine: X64, loader: '/lib64/ld-linux-x86-64.so.2' },
  'linux-arm64': { package: '@oven/bun-linux-aarch64', machine: ARM64, loader: '/lib/ld-linux-aarch64.so.1' },
  'linux-x64-musl': { package: '@oven/bun-linux-x64-musl', machine: X64, loader: '/lib/ld-musl-x86_64.so.1' },
  'linux-arm64-musl': { package: '@oven/bun-linux-aarch64-musl', machine: ARM64, loader: '/lib/ld-musl-aarch64.so.1' },
  // Not for Macs with Intel: Bun does not sign those anew, and the signature of its own is none of the whole.
  'darwin-arm64': { package: '@oven/bun-darwin-aarch64', machine: MAC_ARM64, loader: null },
};

/** Where a program finds itself that was made one with Bun. */
const PROGRAM = Buffer.from('/$bunfs/root/main');
/** Where it then looks for its threads. One that lies elsewhere is never started, and nothing it does is done. */
export const THREADS = [
  'telemetry/log-worker',
  'storage/query-worker',
  'core/token-worker',
  'guardrails/check-worker',
  'assistants/vector-stores/search/search-worker',
  'assistants/vector-stores/search/own/embedding-worker',
] as const;

async function run(command: readonly string[], cwd: string): Promise<string> {
  const child = Bun.spawn([...command], { cwd, stdout: 'pipe', stderr: 'pipe' });
  const [output, errors, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}:\n${errors}${output}`);
  return output;
}

/** The Bun of another machine; npm checks that it is what the registry says. */
async function bunFor({ package: name }: Target, into: string): Promise<string> {
  const [packed] = JSON.parse(await run(['npm', 'pack', '--json', `${name}@${dependencies.bun}`], into)) as {
    filename: string;
  }[];
  await run(['tar', 'xzf', packed!.filename], into);
  const bun = join(into, 'package/bin/bun');
  chmodSync(bun, 0o755);
  return bun;
}

/** What of an executable is not as it should be. */
export function faultsOf(file: string, { machine, loader }: Target): string[] {
  return loader === null ? faultsOnMac(readFileSync(file), machine) : faultsOnLinux(file, machine, loader);
}

function faultsOnLinux(file: string, machine: number, loader: string): string[] {
  const handle = openSync(file, 'r');
  const head = Buffer.alloc(64 << 10);
  readSync(handle, head, 0, head.length, 0);
  closeSync(handle);
  const faults: string[] = [];
  if (head.readUInt32BE(0) !== 0x7f454c46 || head[4] !== 2) return ['is no ELF file of 64 bits'];
  if (head.readUInt16LE(18) !== machine) faults.push(`is for the processor 0x${head.readUInt16LE(18).toString(16)}`);
  const asked = loaderIn(head);
  if (asked !== loader) faults.push(`asks for ${asked ?? 'no loader'} in the place of ${loader}`);
  return [...faults, ...faultsInside(readFileSync(file))];
}

export function faultsInside(bytes: Buffer): string[] {
  if (!bytes.includes(PROGRAM)) return ['does not hold the program'];
  return THREADS.filter((name) => !bytes.includes(`/$bunfs/root/${name}.js`)).map(
    (name) => `does not hold the thread ${name} where the program looks for it`,
  );
}

/** The segment in which an executable names the program that loads it. */
function loaderIn(head: Buffer): string | null {
  const [offset, size, count] = [Number(head.readBigUInt64LE(32)), head.readUInt16LE(54), head.readUInt16LE(56)];
  for (let index = 0; index < count; index++) {
    const at = offset + index * size;
    if (at + size > head.length || head.readUInt32LE(at) !== 3) continue;
    const [from, length] = [Number(head.readBigUInt64LE(at + 8)), Number(head.readBigUInt64LE(at + 32))];
    return head.subarray(from, from + length - 1).toString();
  }
  return null;
}

const SIGNATURE_COMMAND = 0x1d;
const SIGNATURE = 0xfade0cc0;
const DIRECTORY = 0xfade0c02;
const SHA256 = 2;

function faultsOnMac(bytes: Buffer, machine: number): string[] {
  if (bytes.length < 32 || bytes.readUInt32LE(0) !== 0xfeedfacf) return ['is no Mach-O file of 64 bits'];
  const faults: string[] = [];
  if (bytes.readUInt32LE(4) !== machine) faults.push(`is for the processor 0x${bytes.readUInt32LE(4).toString(16)}`);
  faults.push(...faultsInside(bytes));
  const unsigned = faultOfSignature(bytes);
  return unsigned ? [...faults, unsigned] : faults;
}

/** Its signature tells the digest of every page; the kernel ends a process whose page has another one. */
function faultOfSignature(bytes: Buffer): string | null {
  let at = 32;
  for (let left = bytes.readUInt32LE(16); left > 0; left--) {
    if (bytes.readUInt32LE(at) === SIGNATURE_COMMAND) break;
    at += bytes.readUInt32LE(at + 4);
  }
  if (bytes.readUInt32LE(at) !== SIGNATURE_COMMAND) return 'is not signed';
  const signature = bytes.subarray(bytes.readUInt32LE(at + 8));
  if (signature.length < 12 || signature.readUInt32BE(0) !== SIGNATURE) return 'is not signed';
  for (let index = 0; index < signature.readUInt32BE(8); index++) {
    const directory = signature.subarray(signature.readUInt32BE(16 + index * 8));
    if (directory.readUInt32BE(0) !== DIRECTORY || directory[37] !== SHA256) continue;
    const [digests, pages, limit] = [16, 28, 32].map((place) => directory.readUInt32BE(place)) as [
      number,
      number,
      number,
    ];
    const pageSize = 2 ** directory[39]!;
    for (let page = 0; page < pages; page++) {
      const digest = createHash('sha256')
        .update(bytes.subarray(page * pageSize, Math.min(limit, (page + 1) * pageSize)))
        .digest();
      if (!digest.equals(directory.subarray(digests + page * 32, digests + (page + 1) * 32)))
        return `has another page ${page} than its signature says`;
    }
    return pages * pageSize < limit ? 'is not signed to its end' : null;
  }
  return 'is not signed with SHA-256';
}

const runsHere = (name: string): boolean => name === `linux-${process.arch}`;

async function make(name: string): Promise<string> {
  const target = TARGETS[name];
  if (!target) throw new Error(`"${name}" is none of ${Object.keys(TARGETS).join(', ')}.`);
  const file = join('dist/executables', `gateway-${name}`);
  const aside = mkdtempSync(join(tmpdir(), 'gateway-executable-'));
  try {
    await run(['bin/build', 'executable', file, name, await bunFor(target, aside)], root);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
  const path = join(root, file);
  const faults = faultsOf(path, target);
  if (runsHere(name)) {
    const said = (await run([path, 'version'], root)).trim();
    if (said !== version) faults.push(`says version ${said}`);
  }
  if (faults.length > 0) throw new Error(`${file} ${faults.join(', ')}.`);
  const megabytes = (statSync(path).size / 1e6).toFixed(0);
  console.log(`${file}: ${megabytes} MB${runsHere(name) ? ', runs here' : ''}`);
  return file;
}

if (import.meta.main) {
  const asked = process.argv.slice(2);
  rmSync(join(root, 'dist/executables'), { recursive: true, force: true });
  mkdirSync(join(root, 'dist/executables'), { recursive: true });
  const sums: string[] = [];
  for (const name of asked.length > 0 ? asked : Object.keys(TARGETS)) {
    const file = await make(name);
    sums.push(
      `${createHash('sha256')
        .update(readFileSync(join(root, file)))
        .digest('hex')}  gateway-${name}\n`,
    );
  }
  writeFileSync(join(root, 'dist/executables/SHA256SUMS'), sums.join(''));
}
