import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type JailOptions, openJail } from '../../src/assistants/interpreter/jail.ts';
import { SandboxPool } from '../../src/assistants/interpreter/sandbox.ts';
import { dataDirWithSnapshot } from './sandbox.ts';

/** Debian's Python, with what an operator would install for it. */
export const PYTHON = '/usr/bin/python3';
const PACKAGES = 'bubblewrap python3-numpy python3-pandas python3-matplotlib';
/** Unpacking hundreds of megabytes, on a machine that is busy. */
export const JAIL_MS = 600_000;

const hasAll = () =>
  existsSync('/usr/bin/bwrap') &&
  Bun.spawnSync([PYTHON, '-s', '-c', 'import numpy, pandas, matplotlib.pyplot'], { stderr: 'ignore' }).exitCode === 0;

/** Installs Debian's packages when the tests run as root and they are not there. */
export async function ensureJail(): Promise<void> {
  if (hasAll()) return;
  if (process.getuid?.() !== 0)
    throw new Error(`The tests need ${PACKAGES}: install them, or run the tests as root on Debian.`);
  // Test files run in parallel processes; a lock lets one install and the others find what it installed.
  const install = `apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends -o DPkg::options::=--force-unsafe-io ${PACKAGES}`;
  const script = `${PYTHON} -c 'import pandas, matplotlib' 2> /dev/null && command -v bwrap > /dev/null || { apt-get update -qq; ${install}; }`;
  const child = Bun.spawn(['flock', join(tmpdir(), 'gateway-apt.lock'), 'sh', '-c', script], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    stdout: 'ignore',
    stderr: 'pipe',
  });
  const said = await child.stderr.text();
  if (!hasAll()) throw new Error(`${PACKAGES} could not be installed with apt-get: ${said.slice(-500)}`);
}

/**
 * What a gateway runs code in: the Python that it brings along, or the machine's in a jail, which starts with a fifth of the
 * work. Tests of what is the same for both, on two stores, take one for each.
 */
export const pythonOf = {
  sqlite: { dataDir: dataDirWithSnapshot, environment: {} },
  postgres: {
    dataDir: async () => {
      await ensureJail();
      return mkdtempSync(join(tmpdir(), 'gateway-test-'));
    },
    environment: { GATEWAY_INTERPRETER_PYTHON: PYTHON },
  },
} as const;

const folder = mkdtempSync(join(tmpdir(), 'gateway-jail-'));

export async function openTestJail({
  processes = 2,
  idleMs,
  ...options
}: Partial<JailOptions> & { processes?: number; idleMs?: number } = {}): Promise<SandboxPool> {
  const jail = await openJail({ python: PYTHON, folder, memoryMb: 256, cellSeconds: 60, ...options });
  return new SandboxPool({ jail, processes, ...(idleMs !== undefined && { idleMs }) });
}
