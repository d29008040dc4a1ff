import { describe, expect, test } from 'bun:test';
import { asBase64, liftVectors, writeEmbeddings } from './lifted-vectors.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text);
const text = (given: Uint8Array): string => Buffer.from(given).toString();

describe('lifting vectors out of an answer', () => {
  test('leaves their places, and texts as they are', async () => {
    const answer = '{"texts":["[1,2]","a \\\\\\" [3"],"e":{"float":[[0.5, -1],[ 2e-3]]},"n":7,"empty":[]}';
    const { skeleton, vectors } = await liftVectors(bytes(answer));
    expect(text(skeleton)).toBe(answer.replace('[0.5, -1]', '[0]').replace('[ 2e-3]', '[1]'));
    expect(vectors.map(text)).toEqual(['[0.5, -1]', '[ 2e-3]']);
  });

  test.each(['{"e":[1,2', '{"e":[1,"]"]}', '{"e":[1,{"a":2}]}', '{"e":[1,,2]}', '{"e":[1 2]}'])(
    'refuses %s',
    async (answer) => {
      expect(liftVectors(bytes(answer))).rejects.toThrow('a list of numbers');
    },
  );

  test('gives up on an answer that is nothing but brackets', async () => {
    expect(liftVectors(bytes('['.repeat(100_000)))).rejects.toThrow('more than 60000');
  });
});

test.each(['float', 'base64'] as const)('vectors are put back as %s', async (format) => {
  const data = [[0.25, -3], [1e-7]].map((embedding, index) => ({ object: 'embedding', index, embedding }));
  const { skeleton, vectors } = await liftVectors(bytes(JSON.stringify({ object: 'list', data, model: 'm' })));
  const written = await writeEmbeddings(JSON.parse(text(skeleton)), vectors, format);
  const expected = data.map(({ embedding, ...rest }) => ({
    ...rest,
    embedding: format === 'base64' ? asBase64(embedding) : embedding,
  }));
  expect(JSON.parse(text(written))).toEqual({ object: 'list', data: expected, model: 'm' });
});
