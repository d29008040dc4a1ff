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
 * Makes one executable for each kind of machine that runs Linux, on any of them: `npm run executables [target …]`. The Bun of the
 * other machines comes from its package on npm, in the version that package.json names. Each result is looked at: its
 * format, its processor, its C library, and that our program is in it; what this machine can run is also run.
 */

const root = join(import.meta.dir, '..');
const { version, dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

interface Target {
  /** Of Bun's package for that machine. */
  readonly package: string;
  /** As the header of the file says it. */
  readonly machine: number;
  readonly loader: string;
}

const X64 = 0x3e;
const ARM64 = 0xb7;
export const TARGETS: Readonly<Record<string, Target>> = {
  'linux-x64': { package: '@oven/bun-linux-x64', machine: X64, loader: '/lib64/ld-linux-x86-64.so.2' },
  'linux-arm64': { package: '@oven/bun-linux-aarch64', machine: ARM64, loader: '/lib/ld-linux-aarch64.so.1' },
  'linux-x64-musl': { package: '@oven/bun-linux-x64-musl', machine: X64, loader: '/lib/ld-musl-x86_64.so.1' },
  'linux-arm64-musl': { package: '@oven/bun-linux-aarch64-musl', machine: ARM64, loader: '/lib/ld-musl-aarch64.so.1' },
};

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
  const handle = openSync(file, 'r');
  const head = Buffer.alloc(64 << 10);
  readSync(handle, head, 0, head.length, 0);
  closeSync(handle);
  const faults: string[] = [];
  if (head.readUInt32BE(0) !== 0x7f454c46 || head[4] !== 2) return ['is no ELF file of 64 bits'];
  if (head.readUInt16LE(18) !== machine) faults.push(`is for the processor 0x${head.readUInt16LE(18).toString(16)}`);
  const asked = loaderIn(head);
  if (asked !== loader) faults.push(`asks for ${asked ?? 'no loader'} in the place of ${loader}`);
  if (!readFileSync(file).includes(Buffer.from('/$bunfs/root/main'))) faults.push('does not hold the program');
  return faults;
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
