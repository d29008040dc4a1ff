import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { client, startGateway, type TestGateway } from '../gateway.ts';
import { fewDocuments } from '../retrieval/calibration.ts';
import { type CorpusDocument, corpus } from '../retrieval/corpus.ts';
import { stored } from '../retrieval/measure.ts';

/** Formats have no part in how passages are ranked, and reading them is most of the work. */
const asText = (document: CorpusDocument): CorpusDocument => ({
  ...document,
  format: 'txt',
  filename: `${document.filename.replace(/\.\w+$/, '')}.txt`,
});

const QUERIES = [
  'Can the police arrest somebody arbitrarily?',
  'slavery',
  'right to a nationality',
  'May workers leave the country for holidays, and is everyone equal before the law?',
  'quarter sales of umbrellas and boots',
];

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(engine, () => {
    let gateway: TestGateway;
    beforeAll(async () => {
      gateway = await startGateway({ engine });
    }, 120_000);
    afterAll(() => gateway.stop());

    test('what another workspace stores, changes or deletes does not change a ranking or a score by a bit', async () => {
      const as = async (name: string) => {
        const { id } = await gateway.given.workspace({ name });
        const { key } = await gateway.given.apiKey({ workspace_id: id });
        const { call } = client(gateway.url);
        return {
          get: (path: string) => call('GET', path, { key }),
          post: (path: string, body?: unknown) => call('POST', path, { key, body }),
          delete: (path: string) => call('DELETE', path, { key }),
        };
      };
      const [one, other] = [await as('Careful'), await as('Noisy')];
      const mine = await stored(one, fewDocuments().map(asText));
      const answers = async () => {
        const texts: string[] = [];
        for (const query of QUERIES) {
          const reply = await one.post(`/v1/vector_stores/${mine.storeId}/search`, { query, max_num_results: 50 });
          expect(reply.status).toBe(200);
          texts.push(reply.text);
        }
        return texts;
      };
      const before = await answers();
      expect(JSON.parse(before[0]!).data.length).toBeGreaterThan(0);

      // The same documents once more, many like them, and words that are rare here and common there.
      const { documents } = corpus({ languages: ['eng'] });
      const loud = 'slavery nationality arrest quarter umbrellas '.repeat(40);
      const many = [
        ...documents.filter(({ key }) => !key.startsWith('library')),
        ...Array.from({ length: 30 }, (_, number) => ({
          ...fewDocuments()[0]!,
          key: `loud-${number}`,
          content: { title: `${number}`, blocks: [{ text: loud }] },
        })),
      ];
      const theirs = await stored(other, many.map(asText));
      expect(await answers()).toEqual(before);

      const foreign = await other.post(`/v1/vector_stores/${mine.storeId}/search`, { query: 'slavery' });
      expect(foreign.status).toBe(404);
      expect((await other.delete(`/v1/vector_stores/${theirs.storeId}`)).status).toBe(200);
      expect(await answers()).toEqual(before);
    }, 600_000);
  });
}
