import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

/** The code of a page runs for seconds only: to translate it well takes longer than it saves a test. */
const THRIFT = ['--js-flags=--no-opt --no-maglev --no-sparkplug'];

/**
 * A real browser for tests: the `chromium` on the PATH, or Debian's package when the tests run as root. One that is measured
 * translates code as a user's does.
 */
export async function startChromium({ isMeasured = false } = {}): Promise<Browser> {
  return chromium.launch({
    executablePath: await ensureBinary(),
    timeout: 180_000,
    // Tests may run as root, and in containers without shared memory to speak of.
    args: [
      ...['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', `--disable-features=${WITHOUT.join(',')}`],
      ...(isMeasured ? [] : THRIFT),
    ],
  });
}

/**
 * Every window would load two pages for suggestions below its address bar, which nobody sees: three quarters of what a
 * window takes of the processor; and it would start a process for a page that may come. Chromium heeds the last list only,
 * so the one of Playwright is repeated here.
 */
const WITHOUT = [
  ...['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup', 'WebUIOmniboxFullPopup', 'AimEnabled', 'LensOverlay'],
  'SpareRendererForSitePerProcess',
  ...['AvoidUnnecessaryBeforeUnloadCheckSync', 'DestroyProfileOnBrowserClose', 'PaintHolding', 'MediaRouter'],
  ...['HttpsUpgrades', 'HttpsFirstBalancedModeAutoEnable', 'ThirdPartyStoragePartitioning', 'PreconnectToSearch'],
  ...['AvoidCorsURLLoaderRestartOnRedirect', 'OptimizationHints', 'NetworkTimeServiceQuerying'],
];

const INSTALL = 'apt-get update -qq; apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core';

async function ensureBinary(): Promise<string> {
  const found = Bun.which('chromium');
  if (found) return found;
  if (process.getuid?.() !== 0) throw new Error('The tests need chromium: install it, or run them as root on Debian.');
  // Test files run in parallel processes; a lock lets one install and the others find what it installed.
  const script = `command -v chromium > /dev/null || { ${INSTALL}; }`;
  const child = Bun.spawn(['flock', join(tmpdir(), 'gateway-apt.lock'), 'sh', '-c', script], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    stdout: 'ignore',
    stderr: 'ignore',
  });
  await child.exited;
  return Bun.which('chromium') ?? fail();
}

function fail(): never {
  throw new Error('chromium could not be installed with apt-get.');
}
