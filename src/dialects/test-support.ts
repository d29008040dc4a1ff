import type { ModelReply, ModelRequest } from './ir.ts';

/** Without what is no part of the meaning: where things stood, and what the client calls them. */
export function bare<Value extends ModelRequest | ModelReply>(value: Value): Value {
  return JSON.parse(JSON.stringify(value), function (this: unknown, name, member) {
    return (name === 'at' && typeof member === 'string') || name === 'origin' ? undefined : member;
  });
}

/** Steps into, and cuts out, what a path such as `turns[0].parts[1].cache` names; list elements last. */
export function without<Value extends object>(value: Value, paths: readonly string[]): Value {
  const copy = structuredClone(value);
  for (const path of paths) {
    const steps = path.match(/[^.[\]]+/g) ?? [];
    let holder: Record<string, unknown> | undefined = copy as Record<string, unknown>;
    for (const step of steps.slice(0, -1)) holder = holder?.[step] as Record<string, unknown> | undefined;
    // A hole, so that the places of the others stay what they are.
    if (holder) delete holder[steps.at(-1)!];
  }
  return tidy(copy) as Value;
}

const HOLDERS = new Set(['ext', 'openai-chat', 'anthropic', 'responses', 'gemini', 'converse', 'cohere', 'reasoning']);

/** Closes holes, and removes objects of which nothing is left. */
function tidy(value: unknown, name = ''): unknown {
  if (Array.isArray(value)) {
    const items = Object.values(value).map((item) => tidy(item));
    return name === 'tools' && items.length === 0 ? undefined : items;
  }
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, member]) => [key, tidy(member, key)] as const);
  const kept = entries.filter(([, member]) => member !== undefined);
  return kept.length === 0 && HOLDERS.has(name) ? undefined : Object.fromEntries(kept);
}

/** A generator of random numbers that a printed seed brings back. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 to below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  one<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)]!;
  }

  /** The value, or now and then nothing at all. */
  maybe<Value>(make: () => Value, probability = 0.3): Value | undefined {
    return this.chance(probability) ? make() : undefined;
  }

  many<Item>(most: number, make: () => Item, least = 1): Item[] {
    return Array.from({ length: least + this.below(most - least + 1) }, make);
  }
}
