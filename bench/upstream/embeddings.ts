export const DIMENSIONS = 256;

/** A direction that depends on the seed alone. */
export function direction(seed: number): number[] {
  let state = seed;
  return Array.from({ length: DIMENSIONS }, () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0;
    return ((state ^ (state >>> 13)) | 0) / 2 ** 31;
  });
}

/** One vector for each text, another for every request. */
export async function answerEmbeddings(request: Request): Promise<Response> {
  const { input } = (await request.json()) as { input: string[] };
  const data = input.map((text, index) => ({ object: 'embedding', index, embedding: direction(Bun.hash.crc32(text)) }));
  return Response.json({ object: 'list', data, model: 'bench', usage: { prompt_tokens: 8, total_tokens: 8 } });
}
