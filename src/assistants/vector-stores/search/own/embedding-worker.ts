import type { OwnModelQuestion, OwnModelReply } from './requests.ts';

declare const self: Worker;

/** As the package of the engine has it. */
interface Embedder {
  embed(texts: readonly string[]): Promise<readonly (readonly number[])[]>;
}

let opened: Promise<Embedder> | null = null;

/** Runs the embedding model, which computes for some hundred milliseconds at a time. */
self.onmessage = async ({ data: { id, text, ...packages } }: MessageEvent<OwnModelQuestion & { id: number }>) => {
  try {
    opened ??= open(packages);
    const [vector] = await (await opened).embed([text]);
    self.postMessage({ id, vector: vector! } satisfies OwnModelReply);
  } catch (error) {
    self.postMessage({ id, fault: (error as Error).message } satisfies OwnModelReply);
  }
};

async function open({ engine, weights }: Pick<OwnModelQuestion, 'engine' | 'weights'>): Promise<Embedder> {
  const [{ createEmbedder }, { default: model }] = await Promise.all([import(engine), import(weights)]);
  return createEmbedder({ model });
}
