import { expect, test } from 'bun:test';
import { dirname, join, relative } from 'node:path';
import { Glob } from 'bun';

/** A file imports from lower shelves or its own folder: never upward, never from a neighbour. */
const shelves: readonly (readonly string[])[] = [
  ['core'],
  ['dialects', 'storage', 'http', 'crypto'],
  ['work'],
  ['area'],
  ['providers', 'routing', 'guardrails', 'auth', 'limits', 'audit', 'telemetry', 'files'],
  ['relay', 'webhooks', 'alerts', 'views', 'exports', 'backups', 'endings', 'secrets', 'identities'],
  ['inference', 'passthrough', 'assistants', 'batches', 'fine-tuning', 'mcp', 'admin', 'console', 'live', 'scim'],
  ['desired'],
  ['', 'settings', 'cli'],
];
/**
 * Within a folder that has floors the same holds between its sub-folders, from the ground up. '' is what stands in the
 * folder itself, and puts the parts together.
 */
const floors: Readonly<Record<string, readonly (readonly string[])[]>> = {
  limits: [['counters', 'policies'], ['journal'], ['coordinated'], ['']],
  mcp: [
    ['message', 'openapi', 'program'],
    ['server'],
    ['caller'],
    ['oauth', 'upstream-oauth'],
    ['relay'],
    ['policy', 'tools'],
    ['aggregate', 'admin'],
    [''],
  ],
};
const source = join(import.meta.dir, '..', 'src');
const shelfOf = (folder: string) => shelves.findIndex((shelf) => shelf.includes(folder));
const folderOf = (file: string) => (file.includes('/') ? file.slice(0, file.indexOf('/')) : '');
const roomOf = (file: string) => file.split('/').slice(1, -1).join('/');
const floorOf = (file: string) => floors[folderOf(file)]?.findIndex((floor) => floor.includes(roomOf(file))) ?? 0;
/** Folders of areas that can be left out: only the list and commands name them. */
const OPTIONAL = ['console', 'webhooks', 'alerts', 'views', 'fine-tuning', 'batches', 'assistants', 'mcp', 'scim'];
const mayName = (file: string, target: string): boolean =>
  file === 'areas.ts' ||
  folderOf(file) === 'cli' ||
  // The process that reads documents is this program under another name.
  (file === 'main.ts' && target.startsWith('assistants/documents/'));
/** Where a folder describes the area or areas it is. */
const AREA = /^(?!area\/).+\/area\.ts$/;
const IMPORT =
  /(?:^|\n)\s*(?:import|export)\b[^'";]*?from\s+'(\.[^']+)'|import\('(\.[^']+)'\)|(?:^|\n)\s*import\s+'(\.[^']+)'/g;

/** The files that a file imports, values and types alike. */
const importsOf = (file: string, text: string): string[] =>
  [...text.matchAll(IMPORT)].map((match) =>
    relative(source, join(source, dirname(file), (match[1] ?? match[2] ?? match[3])!)),
  );

export function faultsOf(file: string, text: string): string[] {
  const faults: string[] = [];
  const from = folderOf(file);
  for (const target of importsOf(file, text)) {
    // The simulator is a provider that happens to live here, and package.json is data.
    if (target.startsWith('..')) {
      if (shelfOf(from) !== shelves.length - 1) faults.push(`${file} imports ${target}, which lies outside src`);
      continue;
    }
    const to = folderOf(target);
    if (to === from) {
      if (roomOf(target) === roomOf(file) || !floors[from]) continue;
      if (floorOf(target) < 0) faults.push(`${file} imports ${target}, whose folder stands on no floor`);
      else if (floorOf(target) > floorOf(file)) faults.push(`${file} imports ${target} from a floor above`);
      else if (floorOf(target) === floorOf(file)) faults.push(`${file} imports ${target} from a neighbour`);
      continue;
    }
    if (shelfOf(to) < 0) faults.push(`${file} imports ${target}, whose folder stands on no shelf`);
    else if (shelfOf(to) > shelfOf(from)) faults.push(`${file} imports ${target} from a shelf above`);
    else if (shelfOf(to) === shelfOf(from) && shelfOf(to) !== shelves.length - 1)
      faults.push(`${file} imports ${target} from a neighbour`);
    if (/\/routes\.ts$/.test(target)) faults.push(`${file} imports ${target}; only the area itself may`);
    if (OPTIONAL.includes(to) && !mayName(file, target))
      faults.push(`${file} imports ${target}, which can be left out; only src/areas.ts may`);
    else if (AREA.test(target) && file !== 'areas.ts') faults.push(`${file} imports ${target}; only src/areas.ts may`);
  }
  return faults;
}

test('imports go down the shelves', async () => {
  const files = [...new Glob('**/*.ts').scanSync(source)].filter((file) => !file.endsWith('.test.ts'));
  expect(files.length).toBeGreaterThan(50);
  const faults: string[] = [];
  for (const file of files) {
    if (shelfOf(folderOf(file)) < 0) faults.push(`${file} stands on no shelf`);
    if (floorOf(file) < 0) faults.push(`${file} stands on no floor`);
    faults.push(...faultsOf(file, await Bun.file(join(source, file)).text()));
  }
  expect(faults).toEqual([]);
});

test('an import that goes up, sideways or out is seen', () => {
  expect(faultsOf('core/ids.ts', "import { x } from '../http/reply.ts';")).toEqual([
    'core/ids.ts imports http/reply.ts from a shelf above',
  ]);
  expect(faultsOf('auth/api-keys.ts', "import type { x } from '../providers/provider.ts';")).toHaveLength(1);
  expect(faultsOf('relay/relay.ts', "import {\n  x,\n} from '../admin/schemas.ts';")).toHaveLength(1);
  expect(faultsOf('relay/relay.ts', "const x = await import('../main.ts');")).toHaveLength(1);
  expect(faultsOf('relay/relay.ts', "import { x } from '../../simulator/simulator.ts';")).toHaveLength(1);
  expect(faultsOf('app.ts', "import { x } from './telemetry/routes.ts';")).toHaveLength(1);
  expect(faultsOf('app.ts', "import { x } from './telemetry/area.ts';")).toHaveLength(1);
  expect(faultsOf('app.ts', "import type { x } from './batches/batch.ts';")).toHaveLength(1);
  expect(faultsOf('batches/batch.ts', "import type { x } from '../webhooks/webhook.ts';")).toHaveLength(1);
  expect(faultsOf('relay/relay.ts', "import { x } from '../auth/api-keys.ts';")).toEqual([]);
  expect(faultsOf('mcp/caller/caller.ts', "import type { x } from '../oauth/grants.ts';")).toEqual([
    'mcp/caller/caller.ts imports mcp/oauth/grants.ts from a floor above',
  ]);
  expect(faultsOf('mcp/oauth/routes.ts', "import type { x } from '../mcp.ts';")).toHaveLength(1);
  expect(faultsOf('mcp/oauth/grants.ts', "import { x } from '../upstream-oauth/vault.ts';")).toHaveLength(1);
  expect(faultsOf('limits/journal/ledger.ts', "import { x } from '../limiter.ts';")).toHaveLength(1);
  expect(faultsOf('mcp/relay/relay.ts', "import { x } from '../caller/caller.ts';")).toEqual([]);
});

const LARGEST_CIRCLE = 3;

/** Groups of files of which each reaches each other one. */
export function circlesIn(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const numbers = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const circles: string[][] = [];
  const visit = (file: string) => {
    const number = numbers.size;
    numbers.set(file, number);
    lowest.set(file, number);
    const place = open.push(file) - 1;
    for (const next of imports.get(file) ?? []) {
      if (!imports.has(next)) continue;
      if (!numbers.has(next)) visit(next);
      if (open.includes(next)) lowest.set(file, Math.min(lowest.get(file)!, lowest.get(next)!));
    }
    if (lowest.get(file) !== number) return;
    const circle = open.splice(place);
    if (circle.length > 1) circles.push(circle.sort());
  };
  for (const file of imports.keys()) if (!numbers.has(file)) visit(file);
  return circles;
}

test('no circle of imports, types included, goes through two folders or more than three files of one', async () => {
  const imports = new Map<string, readonly string[]>();
  for (const file of new Glob('**/*.ts').scanSync(source)) {
    if (!file.endsWith('.test.ts')) imports.set(file, importsOf(file, await Bun.file(join(source, file)).text()));
  }
  const circles = circlesIn(imports);
  const foldersOf = (circle: readonly string[]) => [...new Set(circle.map(folderOf))];
  expect(circles.filter((circle) => foldersOf(circle).length > 1)).toEqual([]);
  expect(circles.filter(({ length }) => length > LARGEST_CIRCLE)).toEqual([]);
});

test('a circle is seen, and what only leads to it is no part of it', () => {
  const imports = new Map([
    ['a', ['b', 'z']],
    ['b', ['c']],
    ['c', ['d', 'b']],
    ['d', ['a', 'e']],
    ['e', []],
    ['f', ['a']],
  ]);
  expect(circlesIn(imports)).toEqual([['a', 'b', 'c', 'd']]);
  expect(
    circlesIn(
      new Map([
        ['a', ['b']],
        ['b', []],
      ]),
    ),
  ).toEqual([]);
});

/** What a thread loads it keeps for as long as the process lives. */
const LEAN_THREADS: Readonly<Record<string, readonly string[]>> = {
  'telemetry/log-worker.ts': ['zod', 'kysely', 'pg'],
  'storage/query-worker.ts': ['zod', 'pg'],
  'assistants/vector-stores/search/search-worker.ts': ['zod', 'pg'],
  'core/token-worker.ts': ['zod', 'kysely', 'pg'],
};

for (const [thread, heavy] of Object.entries(LEAN_THREADS))
  test(`the thread ${thread} starts without ${heavy.join(', ')}`, async () => {
    const loaded = await loadedBy(thread);
    expect(heavy.filter((name) => loaded.has(name))).toEqual([]);
  });

/** Files and packages that are loaded at the start; what is imported as a type, or when it is needed, is not. */
async function loadedBy(file: string, loaded = new Set<string>()): Promise<ReadonlySet<string>> {
  loaded.add(file);
  const transpiler = new Bun.Transpiler({ loader: 'ts' });
  for (const { path, kind } of transpiler.scanImports(await Bun.file(join(source, file)).text())) {
    if (kind !== 'import-statement') continue;
    const target = path.startsWith('.') ? join(dirname(file), path) : path;
    if (target === path) loaded.add(path);
    else if (!loaded.has(target)) await loadedBy(target, loaded);
  }
  return loaded;
}
