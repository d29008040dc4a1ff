import { expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { catalogue } from './errors.ts';

test('the catalogue has every code of every area, and no code stands in two', async () => {
  const folder = join(import.meta.dir, 'errors');
  const codes: string[] = [];
  for (const file of readdirSync(folder)) {
    if (file === 'entry.ts') continue;
    const areas = Object.values(await import(join(folder, file))) as object[];
    expect(areas).toHaveLength(1);
    codes.push(...Object.keys(areas[0]!));
  }

  expect(codes.toSorted()).toEqual(Object.keys(catalogue).toSorted());
});
