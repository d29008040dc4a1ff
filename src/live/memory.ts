import { BoundedMap } from '../core/bounded-map.ts';
import type { JsonObject } from '../dialects/ir.ts';
import { isObject } from '../dialects/json.ts';

/** A response that is kept nowhere else, so that its WebSocket can go on from it. */
export interface Remembered {
  /** What was said in its turn, and answered: items as JSON, with commas between them. */
  readonly items: string;
  /** What it went on from: another one, or the id of one that is kept elsewhere. */
  readonly from: Remembered | string | null;
  /** Of all that is remembered through it. */
  readonly size: number;
}

/** What all WebSockets of a process remember together. Counted by conversation, which is more than is held. */
export type Memories = BoundedMap<string, Remembered>;

const MOST_OF_ALL = 256 << 20;
/** Larger conversations are not remembered: as much as one frame may have. */
const LARGEST = 16 << 20;
const LEAST_WEIGHT = 4_096;
/** The latest are those that a client goes on from. */
const MOST_OF_ONE = 16;

export const createMemories = (): Memories => new BoundedMap(MOST_OF_ALL, ({ size }) => Math.max(size, LEAST_WEIGHT));

/** What a turn goes on from: the id that a provider or the store knows, and what was said since. */
export interface Before {
  readonly base: string | null;
  readonly items: readonly string[];
  readonly from: Remembered['from'];
}

/** What one WebSocket remembers: its latest responses, as far as they are kept nowhere else. */
export class ConnectionMemory {
  readonly #all: Memories;
  readonly #name: string;
  #ids: readonly string[] = [];

  /** `name` tells it apart from the memories of the others. */
  constructor(all: Memories, name: string) {
    this.#all = all;
    this.#name = name;
  }

  find(previousId: string | null): Before {
    const found = previousId === null ? undefined : this.#all.get(this.#name + previousId);
    const items: string[] = [];
    let at: Remembered['from'] = found ?? previousId;
    for (; at !== null && typeof at !== 'string'; at = at.from) items.unshift(at.items);
    return { base: at, items, from: found ?? previousId };
  }

  keep(id: string, { items, from }: Pick<Remembered, 'items' | 'from'>): void {
    const size = items.length + (from !== null && typeof from !== 'string' ? from.size : 0);
    if (size > LARGEST) return;
    this.#all.set(this.#name + id, { items, from, size });
    const ids = [...this.#ids, id];
    for (const old of ids.slice(0, -MOST_OF_ONE)) this.#all.delete(this.#name + old);
    this.#ids = ids.slice(-MOST_OF_ONE);
  }

  clear(): void {
    for (const id of this.#ids) this.#all.delete(this.#name + id);
    this.#ids = [];
  }
}

/** Ids of these say where something is kept, and what is remembered here is kept nowhere. */
const NAMED_ANEW = new Set<unknown>(['message', 'reasoning', 'function_call', 'custom_tool_call', 'local_shell_call']);

/** What a model said, as the next turn says it again. Null: it cannot be said again. */
function itemAgain(item: unknown): JsonObject | null {
  if (!isObject(item)) return null;
  // Without its encrypted text or its words it is an address of something that is not kept.
  if (item.type === 'reasoning' && !item.encrypted_content && !(Array.isArray(item.content) && item.content.length > 0))
    return null;
  if (!NAMED_ANEW.has(item.type)) return item;
  const { id: _, ...again } = item;
  return again;
}

/** The items of a turn: what was said, and what the response answered. */
export const itemsOf = (said: string, { output }: JsonObject): string => {
  const answered = Array.isArray(output) ? output.map(itemAgain).filter((item) => item !== null) : [];
  return [said, ...answered.map((item) => JSON.stringify(item))].filter(Boolean).join(',');
};
