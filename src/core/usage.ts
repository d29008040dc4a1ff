/** What a call took, as the provider counted it. Absent members were not reported. */
export interface Usage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly totalTokens?: number;
  /** Of the input: what came from the provider's cache, and what was written there. */
  readonly cachedInputTokens?: number;
  readonly cacheWriteTokens?: number;
  /** Of what was written: what is kept for an hour. */
  readonly cacheWriteHourTokens?: number;
  readonly reasoningTokens?: number;
  /** Of the input and of the output: sound and pictures. */
  readonly audioInputTokens?: number;
  readonly audioOutputTokens?: number;
  readonly imageInputTokens?: number;
  readonly imageOutputTokens?: number;
  /** What is not counted in tokens: sound that was heard, text that was spoken, searches, pictures of one kind. */
  readonly seconds?: number;
  readonly characters?: number;
  readonly searches?: number;
  readonly images?: number;
  /** `quality size`, either may be empty. */
  readonly imageKind?: string;
}
