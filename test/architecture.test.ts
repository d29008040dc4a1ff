import { expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dir, '..');
const MOST_JUMPS = 3;
const FEWEST_WAYS = 20;
const EXPORT = /^export (?:async )?(?:const|function|class|interface|type) (\w+)/gm;

const textOf = (file: string): string => readFileSync(join(root, 'src', file), 'utf8');
const isDoor = (file: string): boolean => /(?:^|\/)(?:routes|area)\.ts$|^admin\//.test(file);

/** Whether a reader of the one file meets something that the other defines. */
function leadsTo(file: string, next: string): boolean {
  const text = textOf(file);
  return [...textOf(next).matchAll(EXPORT)].some(([, name]) => new RegExp(`\\b${name}\\b`).test(text));
}

/** What is wrong with a way from the door of an area to a behaviour. */
export function faultsOf(way: readonly string[]): string[] {
  const missing = way.filter((file) => !existsSync(join(root, 'src', file)));
  if (missing.length > 0) return missing.map((file) => `there is no src/${file}`);
  const faults = way.slice(1).flatMap((next, index) => {
    const file = way[index]!;
    return leadsTo(file, next) ? [] : [`${file} mentions nothing of ${next}`];
  });
  if (!isDoor(way[0]!)) faults.push(`${way[0]} is no door of an area`);
  if (way.length - 1 > MOST_JUMPS) faults.push(`${way.length - 1} jumps to ${way.at(-1)}`);
  return faults;
}

test('every behaviour that ARCHITECTURE names is three jumps from a door', () => {
  const page = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
  const ways = page
    .split('\n')
    .filter((line) => line.startsWith('|') && line.includes(' → '))
    .map((line) => [...line.matchAll(/`([\w/.-]+\.ts)`/g)].map(([, file]) => file!));

  expect(ways.length).toBeGreaterThanOrEqual(FEWEST_WAYS);
  expect(ways.flatMap(faultsOf)).toEqual([]);
});

test('a way that is too long, broken or begins nowhere is seen', () => {
  expect(faultsOf(['webhooks/area.ts', 'nowhere.ts'])).toEqual(['there is no src/nowhere.ts']);
  expect(faultsOf(['webhooks/area.ts', 'audit/chain.ts'])).toEqual([
    'webhooks/area.ts mentions nothing of audit/chain.ts',
  ]);
  expect(faultsOf(['webhooks/delivery.ts'])).toEqual(['webhooks/delivery.ts is no door of an area']);
  expect(faultsOf(Array(5).fill('webhooks/area.ts'))).toEqual(['4 jumps to webhooks/area.ts']);
});
