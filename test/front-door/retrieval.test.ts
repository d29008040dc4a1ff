import { afterAll, beforeAll, expect, test } from 'bun:test';
import { startGateway, type TestGateway } from '../gateway.ts';
import { calibration } from '../retrieval/calibration.ts';
import { asText, corpus } from '../retrieval/corpus.ts';
import { answered, qualityOf, stored } from '../retrieval/measure.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.stop());

/**
 * A part of what `bun bench/retrieval.ts` measures: there all of it and in all formats, here enough to see it become worse.
 * What is read from each format has a test of its own in test/retrieval/extraction.test.ts.
 */
test('questions find their documents as often as with plain BM25 and the right stemmer for each of them', async () => {
  const some = corpus({ languages: ['spa', 'fin', 'rus', 'jpn'] });
  const store = await stored(gateway.api, some.documents.map(asText));
  expect([...store.chunks.values()].filter((chunks) => chunks.length === 0)).toEqual([]);

  const all = await answered(gateway.api, some, store);

  const ours = qualityOf(all.map((each) => each.ours));
  const plain = qualityOf(all.map((each) => each.chunks));
  expect(ours.questions).toBeGreaterThan(60);
  expect(ours.hit1).toBeGreaterThan(0.85);
  expect(ours.hit5).toBeGreaterThan(0.93);
  expect(ours.mrr).toBeGreaterThanOrEqual(plain.mrr);
}, 600_000);

test('scores mean the same among ten chunks and among hundreds, and nonsense has next to none', async () => {
  const [few, many] = await calibration(gateway.api, 12);
  expect(many.chunks).toBeGreaterThan(300);
  for (const { scores } of [few, many]) {
    expect(scores.verbatim[0]!).toBeGreaterThan(0.7);
    expect(scores.elsewhere.at(-1)!).toBeLessThan(0.25);
    expect(scores.nonsense.at(-1)!).toBeLessThan(0.25);
  }
  for (const [index, score] of few.scores.verbatim.entries())
    expect(Math.abs(score - many.scores.verbatim[index]!)).toBeLessThan(0.15);
}, 300_000);
