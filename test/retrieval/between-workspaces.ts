import { expect } from 'bun:test';
import { client, type TestGateway } from '../gateway.ts';
import { fewDocuments } from './calibration.ts';
import { asText, corpus } from './corpus.ts';
import { stored } from './measure.ts';

const QUERIES = [
  'Can the police arrest somebody arbitrarily?',
  'slavery',
  'right to a nationality',
  'May workers leave the country for holidays, and is everyone equal before the law?',
  'quarter sales of umbrellas and boots',
];

export interface Noise {
  /** Every document that is like those of the first workspace, or one of so many. */
  readonly oneOf: number;
  /** Documents in which a word that is rare elsewhere stands again and again. */
  readonly loudOnes: number;
}

/** What another workspace stores, changes or deletes does not change a ranking or a score by a bit. */
export async function expectUndisturbed({ url, given }: TestGateway, { oneOf, loudOnes }: Noise): Promise<void> {
  const as = async (name: string) => {
    const { id } = await given.workspace({ name });
    const { key } = await given.apiKey({ workspace_id: id });
    const { call } = client(url);
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
  const alike = documents.filter(({ key }) => !key.startsWith('library'));
  const loud = 'slavery nationality arrest quarter umbrellas '.repeat(40);
  const many = [
    ...fewDocuments(),
    ...alike.filter((_, index) => index % oneOf === 0),
    ...Array.from({ length: loudOnes }, (_, number) => ({
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
}
