import type { JsonObject } from '../../dialects/ir.ts';
import { objectIn, textIn } from '../../dialects/json.ts';
import type { KnownItem } from '../hosted/outgoing.ts';

/** Events that say one more piece of a text. */
const isPiece = (event: JsonObject): boolean => typeof event.delta === 'string';

/**
 * What a round tells that is made again, because the process died that made it first. The client has heard a part of it: what is
 * said again is left out, and a text goes on where it stopped. Where the model now says something else, the client gets no more
 * pieces of it, only the whole.
 */
export class Retold {
  /** The texts that were told, and how much of them was said again. */
  readonly #texts = new Map<string, { readonly told: string; again: string; hasParted: boolean }>();
  readonly #others = new Set<string>();
  /** By their place, items under the ids that the client knows. */
  readonly known = new Map<number, KnownItem>();

  constructor(events: readonly JsonObject[]) {
    for (const event of events) {
      const key = keyOf(event);
      if (isPiece(event)) {
        const text = this.#texts.get(key)?.told ?? '';
        this.#texts.set(key, { told: text + event.delta, again: '', hasParted: false });
      } else this.#others.add(key);
      const { type, id } = objectIn(event.item);
      if (event.type === 'response.output_item.added' && typeof event.output_index === 'number')
        this.known.set(event.output_index, { type: textIn(type) ?? '', id: textIn(id) ?? '' });
    }
  }

  /** What the client is to hear of it; null: nothing. */
  pass(event: JsonObject): JsonObject | null {
    const key = keyOf(event);
    if (!isPiece(event)) return this.#others.delete(key) ? null : event;
    const text = this.#texts.get(key);
    if (!text) return event;
    if (text.hasParted) return null;
    const before = text.again.length;
    text.again += event.delta;
    const { told, again } = text;
    if (told.startsWith(again)) return null;
    if (again.startsWith(told)) return { ...event, delta: again.slice(Math.max(before, told.length)) };
    text.hasParted = true;
    return null;
  }

  /** From here on, all is new. */
  clear(): void {
    this.#texts.clear();
    this.#others.clear();
  }
}

/** What an event is about: its type, and the place of what it speaks of. */
const keyOf = ({ type, output_index, content_index, summary_index, annotation_index }: JsonObject): string =>
  [type, output_index, content_index, summary_index, annotation_index].map((part) => part ?? '').join(' ');
