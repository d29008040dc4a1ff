import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What the bench needs on the machine beside Bun, fetched when it is missing and we may. */

export interface Tools {
  readonly nginx: string;
  readonly wrk: string;
  readonly node: string;
  readonly portkey: string;
  readonly canPin: boolean;
  readonly versions: Readonly<Record<string, string>>;
}

const PORTKEY_VERSION = '1.15.2';

// A fresh install of the peer resolves to a newer adapter with which its streams fail ("immutable" headers).
const PORTKEY_PACKAGE = {
  name: 'bench-peer',
  private: true,
  dependencies: { '@portkey-ai/gateway': PORTKEY_VERSION },
  overrides: { '@hono/node-server': '1.13.8' },
};

export class MissingTools extends Error {}

export async function findTools(workFolder: string, say: (line: string) => void): Promise<Tools> {
  await installPackages(say);
  const node = Bun.which('node');
  const npm = Bun.which('npm');
  if (!node || !npm) throw new MissingTools("Node.js 20 or newer with npm is needed to run Portkey's gateway.");
  const portkey = await installPortkey(npm, join(workFolder, 'portkey'), say);
  const nginx = whichDaemon('nginx')!;
  const wrk = Bun.which('wrk')!;
  return {
    nginx,
    wrk,
    node,
    portkey: portkey.script,
    canPin: Bun.which('taskset') !== null && navigator.hardwareConcurrency > 1,
    versions: {
      bun: Bun.version,
      nginx: /nginx\/(\S+)/.exec(await output([nginx, '-v']))?.[1] ?? 'unknown',
      wrk: /wrk (?:debian\/)?(\S+)/.exec(await output([wrk, '-v']))?.[1] ?? 'unknown',
      node: (await output([node, '--version'])).trim(),
      'Portkey gateway': `${portkey.version} (with @hono/node-server ${portkey.adapterVersion})`,
    },
  };
}

// Debian keeps daemons in /usr/sbin, which is not on every user's path.
function whichDaemon(name: string): string | null {
  return Bun.which(name) ?? Bun.which(name, { PATH: '/usr/sbin:/usr/local/sbin:/sbin' });
}

async function installPackages(say: (line: string) => void): Promise<void> {
  const missing = [
    ...(whichDaemon('nginx') ? [] : ['nginx-light']),
    ...(Bun.which('wrk') ? [] : ['wrk']),
    ...(Bun.which('taskset') ? [] : ['util-linux']),
  ];
  if (missing.length === 0) return;
  const command = `apt-get install --yes --no-install-recommends ${missing.join(' ')}`;
  if (process.getuid?.() !== 0 || !Bun.which('apt-get')) {
    throw new MissingTools(`Missing: ${missing.join(', ')}. As root: ${command}`);
  }
  say(`installing ${missing.join(', ')} with apt-get`);
  const quiet = { DEBIAN_FRONTEND: 'noninteractive' };
  await must(['apt-get', 'update'], quiet);
  // In a container Debian's scripts would start nginx at once; they leave it alone on this run level.
  await must(command.split(' '), { ...quiet, RUNLEVEL: '1' });
  if (!whichDaemon('nginx') || !Bun.which('wrk')) throw new MissingTools(`${command} did not bring nginx and wrk.`);
}

async function installPortkey(npm: string, folder: string, say: (line: string) => void) {
  const versionOf = (name: string): string | undefined => {
    const file = join(folder, 'node_modules', name, 'package.json');
    return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).version : undefined;
  };
  const isInstalled = () =>
    versionOf('@portkey-ai/gateway') === PORTKEY_VERSION &&
    versionOf('@hono/node-server') === PORTKEY_PACKAGE.overrides['@hono/node-server'];
  if (!isInstalled()) {
    say(`installing @portkey-ai/gateway ${PORTKEY_VERSION} with npm into bench/.work`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'package.json'), `${JSON.stringify(PORTKEY_PACKAGE, null, 2)}\n`);
    await must([npm, 'install', '--no-audit', '--no-fund', '--ignore-scripts', '--prefix', folder], {}, folder);
    if (!isInstalled()) throw new MissingTools(`npm did not bring @portkey-ai/gateway ${PORTKEY_VERSION}.`);
  }
  return {
    script: join(folder, 'node_modules/@portkey-ai/gateway/build/start-server.js'),
    version: PORTKEY_VERSION,
    adapterVersion: versionOf('@hono/node-server')!,
  };
}

async function must(command: string[], env: Record<string, string>, cwd?: string): Promise<void> {
  const child = Bun.spawn(command, { env: { ...process.env, ...env }, cwd, stdout: 'pipe', stderr: 'pipe' });
  const [printed, complained, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code === 0) return;
  const lastLines = `${printed}\n${complained}`.trim().split('\n').slice(-8).join('\n');
  throw new MissingTools(`${command.join(' ')} ended with ${code}:\n${lastLines}`);
}

export async function output(command: string[]): Promise<string> {
  const child = Bun.spawn(command, { stdout: 'pipe', stderr: 'pipe' });
  const [printed, complained] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return printed + complained;
}
