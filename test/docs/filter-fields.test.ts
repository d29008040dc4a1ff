import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { FIELD_NAMES } from '../../src/telemetry/filter/language.ts';
import { root } from '../process.ts';

test('the page on logs names every field of the filter language', async () => {
  const page = await Bun.file(join(root, 'docs/logs.md')).text();
  expect(FIELD_NAMES.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});
