import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqlite } from '../../../../storage/store.ts';
import { openEmbeddedChunks } from './embedded.ts';
import { lexeme } from './lexeme.ts';

test('a count goes as far as is asked for, and is never older than the chunks, whoever adds or removes some', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-counts-'));
  const stateFile = join(folder, 'state.db');
  const store = openSqlite(stateFile);
  await store.migrate();
  const open = () => openEmbeddedChunks({ engine: 'sqlite', file: join(folder, 'search.db'), stateFile });
  const [reader, writer] = [open(), open()];
  let sources = 0;
  const add = async (text: string, count: number): Promise<string> => {
    const source = `source-${sources++}`;
    const chunks = Array.from({ length: count }, () => ({ text, begins: 0, ends: 1, locator: null, vector: null }));
    await writer.add({ source, storeId: 'vs_1', first: 0, dimensions: null, vectors: 'none', chunks });
    return source;
  };
  const queryFor = (...words: string[]) => words.map((word) => `"${lexeme('vs_1', word)}"`).join(' OR ');
  const counts = (most: number) =>
    reader.count([queryFor('bicycle'), queryFor('lantern'), queryFor('bicycle', 'lantern'), queryFor('walrus')], most);

  await add('a bicycle', 30);
  const lanterns = await add('a lantern', 8);
  expect(await counts(10)).toEqual([10, 8, 10, 0]);
  // Further than before, then less far, and again.
  expect(await counts(35)).toEqual([30, 8, 35, 0]);
  expect(await counts(5)).toEqual([5, 5, 5, 0]);
  expect(await counts(1_000)).toEqual([30, 8, 38, 0]);

  await add('a walrus on a bicycle', 2);
  expect(await counts(1_000)).toEqual([32, 8, 40, 2]);
  await writer.remove(lanterns, 100);
  expect(await counts(1_000)).toEqual([32, 0, 32, 2]);
  // By the thread itself, which writes on another connection than it reads on.
  const chunk = { text: 'a lantern', begins: 0, ends: 1, locator: null, vector: null };
  await reader.add({ source: 'own', storeId: 'vs_1', first: 0, dimensions: null, vectors: 'none', chunks: [chunk] });
  expect(await counts(1_000)).toEqual([32, 1, 33, 2]);
  // More words than are kept.
  const many = Array.from({ length: 20_500 }, (_, index) => queryFor(`w${index}`));
  expect(new Set(await reader.count(many, 3))).toEqual(new Set([0]));
  expect(await counts(1_000)).toEqual([32, 1, 33, 2]);

  for (const thread of [reader, writer]) thread.close();
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});
