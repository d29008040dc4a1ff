import { expect, test } from 'bun:test';
import { describeRecall, product } from '../../../../test/search/recall.ts';
import { openLab, stores, vectorFor } from '../../../../test/search/stores.ts';
import { anyDirection, topicsOf } from '../../../../test/search/topics.ts';
import { Candidates, codeQuery, encoded, nthOf, segmentOf, turned } from './codes.ts';
import { createKernel, plainCodeSums } from './dot-products.ts';
import { MOST_DIMENSIONS, quantised, strideOf } from './quantised.ts';
import { CodeScan, type CodeScanOptions, nearestOf as nearestRows } from './thread/code-scan.ts';

const SLOW_MS = 240_000;

test('the fast sums are those of the plain loop, at every size', () => {
  const { codeSums } = createKernel();
  for (const [groups, pairs] of [
    [1, 1],
    [3, 13],
    [256, 32],
    [2, MOST_DIMENSIONS / 8],
    [0, 4],
  ] as const) {
    const codes = new Uint8Array(groups * 16 * pairs).map(() => Math.floor(Math.random() * 256));
    const most = Math.min(127, Math.floor(65_535 / pairs / 2));
    const tables = new Uint8Array(pairs * 32).map(() => Math.floor(Math.random() * (most + 1)));
    const all = plainCodeSums(codes, tables, new Uint16Array(groups));
    expect(all.groups).toHaveLength(groups);
    const inOrder = all.sums.toSorted();
    for (const part of [0, 0.5, 0.95, 1]) {
      const enough = inOrder[Math.floor(inOrder.length * part)] ?? 65_535;
      const least = new Uint16Array(groups).map((_, group) =>
        group % 3 === 0 ? enough : Math.min(65_535, enough + 1),
      );
      const { groups: found, sums } = codeSums(codes, tables, least);
      const plain = plainCodeSums(codes, tables, least);
      expect([[...found], [...sums]]).toEqual([[...plain.groups], [...plain.sums]]);
    }
  }
});

test('the number at a place is the one that sorting brings there, among many that are equal, too', () => {
  for (let round = 0; round < 300; round++) {
    const kinds = round % 3 === 0 ? 4 : 1e9;
    const numbers = Float64Array.from(
      { length: 1 + (round % 97) * 7 },
      () => Math.floor(Math.random() * kinds) / kinds,
    );
    if (round % 5 === 0) numbers.sort();
    const place = Math.floor(Math.random() * numbers.length);
    expect(nthOf(numbers.slice(), place)).toBe(numbers.toSorted()[place]!);
  }
});

test('turning keeps lengths and angles, at every length', () => {
  for (const dimensions of [1, 3, 64, 100, 384, 1_536]) {
    const [one, other] = [anyDirection(1, dimensions), anyDirection(2, dimensions)];
    expect(product(turned(one), turned(other))).toBeCloseTo(product(one, other), 4);
    expect(product(turned(one), turned(one))).toBeCloseTo(1, 4);
  }
});

test('what codes say of a cosine is near to it', () => {
  for (const dimensions of [64, 100, 256, 1_536]) {
    const topics = topicsOf(dimensions);
    const vectors = Array.from({ length: 50 }, (_, number) => topics.chunk(3, number));
    const query = topics.question(3, 7);
    const candidates = new Candidates(codeQuery(query), 50);
    candidates.look(segmentOf([['file', encoded(vectors, dimensions, 0)]]), Uint8Array.of(1));
    expect(candidates.result).toHaveLength(50);
    const off = candidates.result.map(({ number, estimate }) => Math.abs(estimate - product(query, vectors[number]!)));
    expect(off.reduce((sum, each) => sum + each, 0) / off.length).toBeLessThan(0.6 / Math.sqrt(dimensions));
  }
});

test('candidates are those that looking at every row finds, with its estimates, whatever was left out unseen', () => {
  for (const [dimensions, perBlock, most] of [
    [64, 50, 30],
    [100, 7, 40],
    [256, 64, 20],
    [32, 1, 25],
  ] as const) {
    const topics = topicsOf(dimensions);
    const segments = Array.from({ length: 6 }, (_, place) =>
      segmentOf(
        Array.from({ length: 12 }, (_, index) => {
          const file = place * 12 + index;
          const vectors = Array.from({ length: perBlock }, (_, number) =>
            (file + number) % 9 === 0 ? null : topics.chunk(file % 20, number % 30),
          );
          return [`source-${file}`, encoded(vectors, dimensions, index * 100)];
        }),
      ),
    );
    for (const query of [topics.question(3, 1), topics.question(14, 5), anyDirection(7, dimensions)]) {
      const asked = codeQuery(query);
      const candidates = new Candidates(asked, most);
      const estimates: number[] = [];
      const estimateOf = new Map<string, number>();
      for (const segment of segments) {
        const searched = Uint8Array.from(segment.sources, (_, index) => (index % 4 === 1 ? 0 : 1));
        candidates.look(segment, searched);
        // All by themselves: nothing is known that could leave one out.
        const alone = new Candidates(asked, 10_000);
        alone.look(segment, searched);
        for (const { source, number, estimate } of alone.result) {
          estimates.push(estimate);
          estimateOf.set(`${source} ${number}`, estimate);
        }
      }
      expect(estimates.length).toBeGreaterThan(most * 1.5);
      const best = estimates.sort((one, other) => other - one).slice(0, most);
      expect(candidates.result.map(({ estimate }) => estimate)).toEqual(best);
      for (const { source, number, estimate } of candidates.result)
        expect(estimateOf.get(`${source} ${number}`)).toBe(estimate);
    }
  }
});

test('a chunk without a vector is no candidate, and a source that is not searched has none', () => {
  const [one, other] = [anyDirection(1, 32), anyDirection(2, 32)];
  const segment = segmentOf([
    ['mixed', encoded([null, one, null], 32, 5)],
    ['other', encoded([other], 32, 0)],
    ['empty', encoded([null], 32, 0)],
  ]);
  const candidates = new Candidates(codeQuery(one), 10);
  candidates.look(
    segment,
    Uint8Array.from(segment.sources, (source) => (source === 'other' ? 0 : 1)),
  );
  expect(candidates.result.map(({ source, number }) => [source, number])).toEqual([['mixed', 6]]);
});

test('with room for a part of the codes, a scan finds what it finds with room for all, however often and by how many it is asked', async () => {
  const topics = topicsOf(64);
  const [files, perFile] = [40, 150];
  const vectors = Array.from({ length: files }, (_, file) =>
    Array.from({ length: perFile }, (_, number) => topics.chunk(file, number)),
  );
  const blocks = vectors.map((each) => quantised(each, 64, 0));
  const codes = vectors.map((each) => encoded(each, 64, 0));
  let loads = 0;
  const options: Omit<CodeScanOptions, 'keptBytes'> = {
    load: async (sources) => {
      loads++;
      await Bun.sleep(0);
      return new Map(sources.map((source) => [source, [codes[Number(source)]!]]));
    },
    compare: async (asked) =>
      nearestRows(
        asked.candidates.map(({ source, number }) => {
          const { scales, rows } = blocks[Number(source)]!;
          const at = number * strideOf(64);
          return { source, number, scale: scales[number]!, row: rows.subarray(at, at + strideOf(64)) };
        }),
        asked,
      ),
    mostBytes: Number.POSITIVE_INFINITY,
  };
  const scan = new CodeScan({ ...options, keptBytes: 30_000 });
  const roomy = new CodeScan({ ...options, keptBytes: Number.POSITIVE_INFINITY });
  const all = Array.from({ length: files }, (_, file) => ({ id: String(file), chunks: perFile, dimensions: 64 }));
  for (const searched of [all, all.slice(20), all.toReversed(), all.slice(0, 1), all]) {
    const questions = [0, 21, 39].map((file) => topics.question(file, 4));
    const found = await Promise.all(questions.map((question) => scan.nearest(searched, question, 20)));
    const ids = new Set(searched.map(({ id }) => id));
    for (const [index, places] of found.entries()) {
      expect(places).toHaveLength(20);
      expect(new Set(places!.map(({ source, number }) => `${source} ${number}`)).size).toBe(20);
      expect(places!.every(({ source }) => ids.has(source))).toBe(true);
      expect(places).toEqual(await roomy.nearest(searched, questions[index]!, 20));
    }
  }
  expect(loads).toBeGreaterThan(8);
});

/** With more chunks in `test/long/search.test.ts`. */
describeRecall('the embedded store', { files: 30, most: 50 });
describeRecall('PostgreSQL', { files: 10, most: 25 });
describeRecall('PostgreSQL with pgvector', { files: 10, most: 25 });

test('vectors that were stored before there were codes are found by codes, too', async () => {
  const lab = await openLab(() => stores.PostgreSQL!(1));
  const storeId = await lab.newStore();
  await lab.newFile(storeId, ['an automobile', 'a loaf', 'some cash']);
  await lab.store.db.deleteFrom('chunk_codes').execute();
  expect(await lab.find('vehicle', { storeIds: [storeId], most: 1 })).toEqual({
    mode: 'hybrid',
    texts: ['an automobile'],
  });
  await lab.close();
});

test(
  'with pgvector, files from before there were codes are found beside those that have some',
  async () => {
    const lab = await openLab(() => stores['PostgreSQL with pgvector']!(1));
    const storeId = await lab.newStore();
    const before = await lab.newFile(storeId, ['an automobile of before', 'a loaf of before']);
    const hidden = await lab.newFile(storeId, ['an automobile that no code leads to']);
    await lab.newFile(storeId, ['an automobile of now', 'some cash of now']);
    const { db } = lab.store;
    const sourceOf = (fileId: string) => db.selectFrom('indexed_files').select('id').where('file_id', '=', fileId);
    await db.deleteFrom('chunk_codes').where('source', '=', sourceOf(before)).execute();
    // Not a number, as of a chunk without a vector: what is found of it was found by looking at everything.
    const factors = Buffer.from(new Float32Array([Number.NaN]).buffer);
    await db.updateTable('chunk_codes').set({ factors }).where('source', '=', sourceOf(hidden)).execute();
    const found = await lab.chunks.byVector({ storeIds: [storeId], filter: null }, vectorFor('vehicle', 64)!, 2);
    const texts = (await lab.chunks.read(found!)).map(({ text }) => text);
    expect(texts.sort()).toEqual(['an automobile of before', 'an automobile of now']);
    await lab.close();
  },
  SLOW_MS,
);
