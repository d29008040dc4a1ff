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

/** All tokens of a call. A translator leaves a total out that says no more than its two parts. */
export function totalTokens(usage: Usage | null): number | null {
  if (!usage) return null;
  const { inputTokens, outputTokens, totalTokens: total } = usage;
  if (total !== undefined) return total;
  return inputTokens === undefined && outputTokens === undefined ? null : (inputTokens ?? 0) + (outputTokens ?? 0);
}

const COUNTS = [
  'inputTokens',
  'outputTokens',
  'totalTokens',
  'cachedInputTokens',
  'cacheWriteTokens',
  'cacheWriteHourTokens',
  'reasoningTokens',
  'audioInputTokens',
  'audioOutputTokens',
  'imageInputTokens',
  'imageOutputTokens',
] as const satisfies readonly (keyof Usage)[];

/** What two calls of a chat took together; with a sign of -1, what one took more than the other. */
export function addUsage(one: Usage, other: Usage, sign: 1 | -1 = 1): Usage {
  const added: Record<string, number> = {};
  const whole = (usage: Usage): Usage => ({ ...usage, totalTokens: totalTokens(usage) ?? undefined });
  const [first, second] = [whole(one), whole(other)];
  for (const name of COUNTS)
    if (first[name] !== undefined || second[name] !== undefined)
      added[name] = Math.max(0, (first[name] ?? 0) + sign * (second[name] ?? 0));
  return added;
}
