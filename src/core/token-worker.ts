import { type Encoding, loadTokenizer } from './tokenizer.ts';

declare const self: Worker;

export interface CountQuestion {
  readonly id: number;
  readonly encoding: Encoding;
  readonly texts: readonly string[];
}

export interface CountReply {
  readonly id: number;
  readonly counts: readonly number[];
}

/** Counts in a thread of its own: vocabularies are large, and so may texts be. */
self.onmessage = async ({ data: { id, encoding, texts } }: MessageEvent<CountQuestion>) => {
  const tokenizer = await loadTokenizer(encoding);
  self.postMessage({ id, counts: texts.map((text) => tokenizer.count(text)) } satisfies CountReply);
};
