/**
 * What the names of Claude models tell. Names come bare (`claude-opus-4-8`), dated, or with a cloud's prefix and suffix
 * (`us.anthropic.claude-opus-4-1-20250805-v1:0`, `claude-opus-4@20250514`).
 */

interface Generation {
  readonly family: string;
  readonly major: number;
  readonly minor: number;
}

function generationOf(model: string): Generation | null {
  const old = /claude-(\d)-(?:(\d)-)?(opus|sonnet|haiku)/.exec(model);
  if (old) return { family: old[3]!, major: Number(old[1]), minor: Number(old[2] ?? 0) };
  const named = /claude-([a-z]+)-(\d{1,2})(?:-(\d{1,2})(?!\d))?/.exec(model);
  return named ? { family: named[1]!, major: Number(named[2]), minor: Number(named[3] ?? 0) } : null;
}

const isAtLeast = ({ major, minor }: Generation, wanted: number, wantedMinor: number): boolean =>
  major > wanted || (major === wanted && minor >= wantedMinor);

/**
 * The most tokens a model answers with, for requests that set no limit where Anthropic demands one. Numbers as public
 * pages list them in 2026; a name that is not known gets the smallest that any of its models had.
 */
export function outputCap(model: string): number {
  const generation = generationOf(model);
  if (!generation) return 4_096;
  if (isAtLeast(generation, 4, 6)) return 128_000;
  if (generation.family === 'opus' && generation.major === 4 && generation.minor < 5) return 32_000;
  if (isAtLeast(generation, 3, 7)) return 64_000;
  return generation.major === 3 && generation.minor === 5 ? 8_192 : 4_096;
}

/** From Opus 4.8 on a system message may stand inside the conversation; Sonnet 5 and all before refuse it. */
export function takesSystemTurns(model: string): boolean {
  const generation = generationOf(model);
  if (!generation || !isAtLeast(generation, 4, 8)) return false;
  return generation.family !== 'sonnet' || isAtLeast(generation, 5, 5);
}

/** From 4.6 on a model decides by itself how much it thinks, and effort is a setting of its own. */
export function takesEffort(model: string): boolean {
  const generation = generationOf(model);
  return generation !== null && isAtLeast(generation, 4, 6);
}

/** Answers by a schema came with Opus 4.1 and, for the others, 4.5. A name that is not known may be of a newer model. */
export function takesSchemas(model: string): boolean {
  const generation = generationOf(model);
  return generation === null || isAtLeast(generation, 4, generation.family === 'opus' ? 1 : 5);
}
