import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type BrowserContext, chromium } from 'playwright-core';

/** The code of a page runs for seconds only: to translate it well takes longer than it saves a test. */
const THRIFT = ['--js-flags=--no-opt --no-maglev --no-sparkplug'];

/**
 * A real browser for tests. One that is measured is the `chromium` on the PATH, and translates code as a user's does. Others are the same
 * Chromium built without windows, `chromium-headless-shell`, where it is there: the tests of the console take three quarters of the
 * processor with it. When the tests run as root, what is missing is installed from Debian's packages.
 */
export async function startChromium({ isMeasured = false } = {}): Promise<Chromium> {
  if (isMeasured) return launch(true);
  // It ends with the process of the tests.
  const another = () => launch(false);
  shared = shared ? shared.then((browser) => (browser.isConnected() ? browser : another()), another) : another();
  const browser = await shared;
  const opened: BrowserContext[] = [];
  const newContext: Chromium['newContext'] = async (options) => {
    const context = await browser.newContext(options);
    opened.push(context);
    return context;
  };
  return {
    newContext,
    newPage: async (options) => (await newContext(options)).newPage(),
    close: async () => void (await Promise.all(opened.map((context) => context.close()))),
  };
}

/** What tests ask of a browser. */
export type Chromium = Pick<Browser, 'newContext' | 'newPage' | 'close'>;

/** To start one takes as much of the processor as to load ten pages, and windows of one know nothing of each other's. */
let shared: Promise<Browser> | undefined;

async function launch(isMeasured: boolean): Promise<Browser> {
  return chromium.launch({
    executablePath: await ensureBinary(isMeasured ? CHROMIUM : HEADLESS),
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

const CHROMIUM = 'chromium';
const HEADLESS = 'chromium-headless-shell';

async function ensureBinary(name: string): Promise<string> {
  const found = Bun.which(name) ?? (isRoot() ? await install(name) : null) ?? Bun.which(CHROMIUM);
  if (found) return found;
  throw new Error(
    isRoot()
      ? `${name} could not be installed with apt-get.`
      : 'The tests need chromium: install it, or run them as root on Debian.',
  );
}

const isRoot = (): boolean => process.getuid?.() === 0;

async function install(name: string): Promise<string | null> {
  // Test files run in parallel processes; a lock lets one install and the others find what it installed.
  const packages = `apt-get update -qq; apt-get install -y -qq --no-install-recommends ${name} fonts-dejavu-core`;
  const script = `command -v ${name} > /dev/null || { ${packages}; }`;
  const child = Bun.spawn(['flock', join(tmpdir(), 'gateway-apt.lock'), 'sh', '-c', script], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    stdout: 'ignore',
    stderr: 'ignore',
  });
  await child.exited;
  return Bun.which(name);
}
