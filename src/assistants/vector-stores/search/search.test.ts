import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { matches, randomAttributes, randomFilter } from '../../../../test/search/filters.ts';
import { chunksOf, openLab, type SearchLab, stores, vectorFor } from '../../../../test/search/stores.ts';
import { createPostgresChunks } from './postgres-chunks.ts';
import { sweepChunks } from './sweep.ts';
import { openPostgresChunks } from './thread/postgres.ts';

const HOUR_MS = 3_600_000;
const ROUNDS = 60;
const signal = new AbortController().signal;
/** A search by words alone is that of PostgreSQL: vectors have no part in it, and so the extension has none. */
const PGVECTOR = 'PostgreSQL with pgvector';

for (const [name, open] of Object.entries(stores)) {
  describe(name, () => {
    let lab: SearchLab;
    beforeAll(async () => {
      lab = await openLab(open);
    });
    afterAll(() => lab.close());

    test('a chunk is found by a word that is in it, however that is written', async () => {
      const storeId = await lab.newStore();
      await lab.newFile(storeId, [
        'Das Café liegt am Fluß.',
        'function parseHttpHeader(text) {}',
        '東京都の天気は晴れです。',
      ]);
      lab.embeddings.model = null;
      expect(await lab.find('CAFE', { storeIds: [storeId] })).toEqual({
        mode: 'full-text',
        texts: ['Das Café liegt am Fluß.'],
      });
      expect((await lab.find('how is a header read?', { storeIds: [storeId] })).texts[0]).toContain('parseHttpHeader');
      expect((await lab.find('天気', { storeIds: [storeId] })).texts).toEqual(['東京都の天気は晴れです。']);
      expect((await lab.find('†††', { storeIds: [storeId] })).texts).toEqual([]);
      lab.embeddings.model = { name: 'test-embedding', dimensions: 64 };
    });

    test('a chunk is found by its meaning though none of the words is in it', async () => {
      const storeId = await lab.newStore();
      await lab.newFile(storeId, ['an automobile', 'a loaf', 'some cash']);
      const { mode, texts } = await lab.find('vehicle', { storeIds: [storeId], most: 1 });
      expect(mode).toBe('hybrid');
      expect(texts).toEqual(['an automobile']);
    });

    test('what has both the words and the meaning comes before what has one of them, with scores from 0 to 1', async () => {
      const storeId = await lab.newStore();
      await lab.newFile(storeId, ['nothing at all', 'a car and much else that is long to say', 'car', 'an automobile']);
      const { results } = await lab.search({
        ...{ workspaceId: lab.workspaceId, storeIds: [storeId], queries: ['car'], filter: null, signal },
        ...{ most: 10, scoreThreshold: 0 },
      });
      expect(results[0]!.text).toBe('car');
      for (const { score } of results) expect(score).toBeWithin(0, 1.000001);
      const scores = results.map(({ score }) => score);
      expect(scores).toEqual([...scores].sort((one, other) => other - one));
      const high = await lab.find('car', { storeIds: [storeId], scoreThreshold: 0.99 });
      expect(high.texts).toEqual(['car']);
      const nonsense = await lab.find('blorp quux zzyzx', { storeIds: [storeId], scoreThreshold: 0.1 });
      expect(nonsense.texts).toEqual([]);
    });

    test('no other store changes what is found in one, nor its scores by a bit', async () => {
      const storeId = await lab.newStore();
      await lab.newFile(storeId, [
        'The notice period for the walrus is one month.',
        'A walrus eats clams.',
        'Notice: clams are out. Notice the clams.',
        'Periods of rain.',
      ]);
      lab.embeddings.model = null;
      const found = () =>
        lab.search({
          ...{ workspaceId: lab.workspaceId, storeIds: [storeId], filter: null, signal },
          ...{ queries: ['How long is the notice period of walruses and clams?'], most: 10, scoreThreshold: 0 },
        });
      const before = await found();
      expect(before.results).toHaveLength(4);
      const other = await lab.newStore();
      const words = ['walrus walrus walrus', 'notice', 'clams and more clams'];
      await lab.newFile(
        other,
        Array.from({ length: 200 }, (_, number) => `${words[number % 3]} ${'filler '.repeat(number)}`),
      );
      expect(await found()).toEqual(before);
      lab.embeddings.model = { name: 'test-embedding', dimensions: 64 };
    });

    test('the words behind many others are looked for when they are the rare ones', async () => {
      const storeId = await lab.newStore();
      const common = Array.from(
        { length: 60 },
        (_, number) => `common${String.fromCodePoint(97 + (number % 26))}${number}`,
      );
      await lab.newFile(storeId, [...Array.from({ length: 5 }, () => common.join(' ')), 'the okapi sleeps']);
      lab.embeddings.model = null;
      const { texts } = await lab.find(`${common.join(' ')} okapi`, { storeIds: [storeId] });
      expect(texts).toContain('the okapi sleeps');
      lab.embeddings.model = { name: 'test-embedding', dimensions: 64 };
    });

    if (name !== PGVECTOR)
      test('a chunk that has all words of a query is found though each of them is in thousands', async () => {
        const storeId = await lab.newStore();
        const words = ['harbour', 'lantern', 'meadow'];
        const others = Array.from({ length: 7_500 }, (_, number) => `${words[number % 3]} ${number}`);
        lab.embeddings.model = null;
        await lab.newFile(storeId, others.slice(0, 5_000));
        const wanted = 'the lantern of the harbour by the meadow';
        const gone = await lab.newFile(storeId, ['harbour lantern meadow, but removed']);
        await lab.newFile(storeId, [
          ...others.slice(5_000),
          'lantern',
          'lantern again',
          'a harbour by a meadow',
          wanted,
        ]);
        await lab.store.transaction((db) => lab.index.remove(db, storeId, gone));
        const { texts } = await lab.find('harbour meadow lantern', { storeIds: [storeId] });
        expect(texts.slice(0, 2)).toEqual([wanted, 'a harbour by a meadow']);
        expect(texts).toHaveLength(10);
        lab.embeddings.model = { name: 'test-embedding', dimensions: 64 };
      });

    test('several wordings find what one of them finds', async () => {
      const storeId = await lab.newStore();
      await lab.newFile(storeId, ['the physician is in', 'the bakery is open', 'nothing here']);
      const { texts } = await lab.find('', { storeIds: [storeId], queries: ['doctor', 'loaf'], most: 2 });
      expect(texts.sort()).toEqual(['the bakery is open', 'the physician is in']);
    });

    test('only files of the stores that are asked, and only completed ones, are found', async () => {
      const [one, other] = [await lab.newStore(), await lab.newStore()];
      await lab.newFile(one, ['zebra in one']);
      const fileId = await lab.newFile(other, ['zebra in the other']);
      expect((await lab.find('zebra', { storeIds: [one] })).texts).toEqual(['zebra in one']);
      expect((await lab.find('zebra', { storeIds: [one, other] })).texts).toHaveLength(2);
      await lab.store.db
        .updateTable('vector_store_files')
        .set({ status: 'in_progress' })
        .where('file_id', '=', fileId)
        .execute();
      expect((await lab.find('zebra', { storeIds: [one, other] })).texts).toEqual(['zebra in one']);
    });

    test('a file that is taken in again is found as it is now, and its text is that of its chunks', async () => {
      const storeId = await lab.newStore();
      const fileId = await lab.newFile(storeId, ['old giraffe', 'second']);
      expect(await lab.index.content(storeId, fileId)).toEqual(['old giraffe', 'second']);
      const file = { storeId, fileId, workspaceId: lab.workspaceId };
      const put = () => lab.index.put(file, chunksOf(['new giraffe\0']), { signal, transaction: lab.fenced });
      const { usageBytes } = await put();
      expect(usageBytes).toBe(Buffer.byteLength('new giraffe\uFFFD') + 64);
      expect((await lab.find('giraffe', { storeIds: [storeId] })).texts).toEqual(['new giraffe\uFFFD']);
      await put();
      expect((await lab.find('giraffe', { storeIds: [storeId] })).texts).toEqual(['new giraffe\uFFFD']);
      expect(await lab.index.content(storeId, fileId)).toEqual(['new giraffe\uFFFD']);
    });

    test('an attempt that dies leaves what was there, and the next one is whole', async () => {
      const storeId = await lab.newStore();
      const fileId = await lab.newFile(storeId, ['first walrus']);
      const file = { storeId, fileId, workspaceId: lab.workspaceId };
      async function* dying() {
        for (let number = 0; number < 100; number++) yield { text: `second walrus ${number}`, start: 0, end: 1 };
        throw new Error('killed');
      }
      const attempt = lab.index.put(file, dying(), { signal, transaction: lab.fenced });
      expect(await attempt.catch((error: Error) => error.message)).toBe('killed');
      expect((await lab.find('walrus', { storeIds: [storeId] })).texts).toEqual(['first walrus']);
      await lab.index.put(file, chunksOf(['third walrus']), { signal, transaction: lab.fenced });
      expect((await lab.find('walrus', { storeIds: [storeId] })).texts).toEqual(['third walrus']);
    });

    test('what nobody can find is swept away, and nothing else', async () => {
      const storeId = await lab.newStore();
      const kept = await lab.newFile(storeId, ['a kept ibex']);
      const removed = await lab.newFile(
        storeId,
        Array.from({ length: 450 }, (_, number) => `ibex ${number}`),
      );
      await lab.store.transaction((db) => lab.index.remove(db, storeId, removed));
      expect((await lab.find('ibex', { storeIds: [storeId] })).texts).toEqual(['a kept ibex']);
      const lost = await lab.newFile(storeId, ['a lost ibex']);
      await lab.store.db.deleteFrom('vector_store_files').where('file_id', '=', lost).execute();
      const sources = await lab.store.db
        .selectFrom('indexed_files')
        .select('id')
        .where('file_id', 'in', [removed, lost])
        .execute();

      const later = () => Date.now() + 2 * HOUR_MS;
      await sweepChunks({ store: lab.store, chunks: lab.chunks, now: later });

      expect((await lab.find('ibex', { storeIds: [storeId] })).texts).toEqual(['a kept ibex']);
      for (const { id } of sources) expect(await lab.chunks.texts(id)).toEqual([]);
      const rows = await lab.store.db
        .selectFrom('indexed_files')
        .select('file_id')
        .where('store_id', '=', storeId)
        .execute();
      expect(rows).toEqual([{ file_id: kept }]);
    });

    test('a store stays with the model of its first file, and vectors of two models are never compared', async () => {
      const [old, young] = [await lab.newStore(), await lab.newStore()];
      await lab.newFile(old, ['an automobile of the old store']);
      lab.embeddings.model = { name: 'newer-embedding', dimensions: 32 };
      await lab.newFile(old, ['another automobile of the old store']);
      await lab.newFile(young, ['an automobile of the young store']);
      lab.embeddings.asked.length = 0;

      const { texts } = await lab.find('vehicle', { storeIds: [old, young] });

      expect(texts).toHaveLength(3);
      expect(lab.embeddings.asked.map(({ model }) => model).sort()).toEqual(['newer-embedding', 'test-embedding']);
      lab.embeddings.model = { name: 'test-embedding', dimensions: 64 };
    });

    test('when the embedding model fails, search goes on by words and says so', async () => {
      const storeId = await lab.newStore();
      await lab.newFile(storeId, ['a car', 'an automobile']);
      lab.embeddings.failures.push(503);
      expect(await lab.find('car', { storeIds: [storeId] })).toEqual({ mode: 'full-text', texts: ['a car'] });
      expect(lab.health.snapshot().map(({ part }) => part)).toEqual(['search']);
      expect((await lab.find('car', { storeIds: [storeId] })).mode).toBe('hybrid');
      expect(lab.health.snapshot()).toEqual([]);
    });

    test('taking in a file survives a model that is busy for a moment, and fails with one that refuses', async () => {
      const storeId = await lab.newStore();
      lab.embeddings.failures.push(429, 503);
      await lab.newFile(storeId, ['an automobile']);
      expect((await lab.find('vehicle', { storeIds: [storeId] })).texts).toEqual(['an automobile']);
      lab.embeddings.failures.push(400);
      expect(await lab.newFile(storeId, ['a car']).catch((error: Error) => error.message)).toContain('it is down');
      lab.embeddings.failures.push(500, 500, 500);
      expect(await lab.newFile(storeId, ['a car']).catch((error: Error) => error.message)).toContain('it is down');
      expect((await lab.find('car', { storeIds: [storeId] })).texts).toEqual(['an automobile']);
    });

    if (name !== PGVECTOR)
      test('filters let through what a plain reading of them lets through', async () => {
        const storeId = await lab.newStore();
        lab.embeddings.model = null;
        const files = new Map<string, ReturnType<typeof randomAttributes>>();
        for (let number = 0; number < 40; number++) {
          const attributes = randomAttributes();
          files.set(await lab.newFile(storeId, [`okapi ${number}`], attributes), attributes);
        }
        let between = 0;
        for (let round = 0; round < ROUNDS; round++) {
          const filter = randomFilter();
          const { results } = await lab.search({
            ...{ workspaceId: lab.workspaceId, storeIds: [storeId], queries: ['okapi'], filter, signal },
            ...{ most: 50, scoreThreshold: 0 },
          });
          const expected = [...files].filter(([, attributes]) => matches(filter, attributes)).map(([id]) => id);
          expect({ filter, found: results.map(({ fileId }) => fileId).sort() }).toEqual({
            filter,
            found: expected.sort(),
          });
          if (expected.length > 0 && expected.length < files.size) between++;
        }
        // Filters that let everything or nothing through prove little.
        expect(between).toBeGreaterThan(ROUNDS / 3);
        lab.embeddings.model = { name: 'test-embedding', dimensions: 64 };
      });
  });
}

test('vectors made before pgvector was there are found together with those made after', async () => {
  const lab = await openLab(stores['PostgreSQL with pgvector']!);
  const storeId = await lab.newStore();
  await lab.newFile(storeId, ['an automobile with the extension']);
  const now = await lab.chunks.newVectors();
  expect(now).toBe('pgvector');
  const before = await lab.newFile(storeId, ['an automobile without the extension']);
  // As if it had been written without: in a block instead of the column.
  const { id } = await lab.store.db
    .selectFrom('indexed_files')
    .select('id')
    .where('file_id', '=', before)
    .executeTakeFirstOrThrow();
  await sql`update chunks set embedding = null where source = ${id}`.execute(lab.store.db);
  await lab.store.db.updateTable('indexed_files').set({ vectors: 'scanned' }).where('id', '=', id).execute();
  await lab.chunks.add({
    ...{ source: id, storeId, first: 0, dimensions: 64, vectors: 'scanned' },
    chunks: [
      { text: 'x', begins: 0, ends: 1, locator: null, vector: vectorFor('an automobile without the extension', 64) },
    ],
  });
  expect((await lab.find('vehicle', { storeIds: [storeId] })).texts.sort()).toEqual([
    'an automobile with the extension',
    'an automobile without the extension',
  ]);
  await lab.close();
});

test('where there are too many vectors to scan, search goes on by words and says so', async () => {
  const lab = await openLab(async () => {
    const opened = await stores.PostgreSQL!();
    const thread = openPostgresChunks(opened.store.db, { mostScannedBytes: 15 });
    const { store } = opened;
    return { ...opened, chunks: createPostgresChunks({ store, thread, approximateFrom: 100, now: Date.now }) };
  });
  const storeId = await lab.newStore();
  await lab.newFile(storeId, ['a car']);
  expect((await lab.find('car', { storeIds: [storeId] })).mode).toBe('hybrid');
  await lab.newFile(storeId, ['an automobile']);
  expect(await lab.find('car', { storeIds: [storeId] })).toEqual({ mode: 'full-text', texts: ['a car'] });
  expect(lab.health.snapshot()[0]!.effect).toContain('more vectors than can be scanned');
  await lab.close();
});
