/** What the upstream answers in one format: the same bytes every time, made once. */
export interface Canned {
  readonly whole: Buffer;
  /** A stream: what comes first, the chunks in turn, what comes last. */
  readonly opening: readonly Buffer[];
  readonly chunks: readonly Buffer[];
  readonly ending: (asked: Asked) => readonly Buffer[];
}

/** What a request says about the stream it wants. */
export interface Asked {
  readonly max_tokens: number;
  readonly seed?: number;
  readonly stream_options?: { readonly include_usage?: boolean };
}
