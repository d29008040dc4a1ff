import type { JsonObject } from '../../dialects/ir.ts';
import type { Citable, Link } from './hosted-tool.ts';

/** Models change the word behind the dagger; the numbers say what is meant. */
const WHOLE = /^【\s{0,2}(\d{1,6}:\d{1,6})\s{0,2}†[^【】\n]{0,200}】/;
const PART = /^【\s{0,2}(\d{0,6}|\d{1,6}:\d{0,6}\s{0,2}|\d{1,6}:\d{1,6}\s{0,2}†[^【】\n]{0,200})$/;
const NUMBERS = /\d+:\d+/;

export const markerOf = (call: number, result: number): string => `【${call}:${result}†source】`;

/** What may follow a link: nothing that would make it another one. */
const BEHIND = '(?=[^\\w/%~.-]|\\.\\W)';
/** Of more links, older ones are not cited any more. */
const MOST_LINKS = 1_000;

/** What a text may cite, as a list. */
export interface Cited {
  readonly citables: readonly Citable[];
  readonly links: readonly Link[];
}

/** What a text may cite. */
export class Citables {
  /** By its numbers, what a marker stands for. */
  readonly markers = new Map<string, Citable>();
  readonly #links = new Map<string, JsonObject>();
  #pattern: RegExp | null = null;

  get isEmpty(): boolean {
    return this.markers.size === 0 && this.#links.size === 0;
  }

  get all(): Cited {
    const links = [...this.#links].map(([text, annotation]) => ({ text, annotation }));
    return { citables: [...this.markers.values()], links: links.slice(-MOST_LINKS) };
  }

  add({
    citables = [],
    links = [],
  }: {
    readonly citables?: readonly Citable[];
    readonly links?: readonly Link[];
  }): void {
    for (const citable of citables) this.markers.set(NUMBERS.exec(citable.marker)![0], citable);
    for (const { text, annotation } of links) {
      // Of something that was made again, the last is meant.
      this.#links.delete(text);
      this.#links.set(text, annotation);
    }
    this.#pattern = null;
  }

  /** The links in a text that is whole. */
  linked(text: string): JsonObject[] {
    if (this.#links.size === 0) return [];
    const known = [...this.#links.keys()].slice(-MOST_LINKS).sort((one, other) => other.length - one.length);
    this.#pattern ??= new RegExp(`(?:${known.map(RegExp.escape).join('|')})${BEHIND}`, 'g');
    return [...`${text}\n`.matchAll(this.#pattern)].map(({ 0: link, index }) => ({
      ...this.#links.get(link)!,
      start_index: index,
      end_index: index + link.length,
    }));
  }
}

/**
 * A text that grows, without the markers in it: those of something that the model was shown become citations, others are left
 * out. What may still become a marker is held back until it is one, or none. Links stay, and are cited when the text is whole.
 */
export class CitedText {
  readonly #known: Citables;
  readonly annotations: JsonObject[] = [];
  #text = '';
  #held = '';

  constructor(known: Citables) {
    this.#known = known;
  }

  push(piece: string): { readonly text: string; readonly annotations: readonly JsonObject[] } {
    return this.#read(this.#held + piece, false);
  }

  end() {
    const count = this.annotations.length;
    const { text } = this.#read(this.#held, true);
    this.annotations.push(...this.#known.linked(this.#text));
    return { text, annotations: this.annotations.slice(count) };
  }

  #read(given: string, isLast: boolean) {
    const count = this.annotations.length;
    let text = '';
    let rest = given;
    this.#held = '';
    while (rest !== '') {
      const at = rest.indexOf('【');
      const plain = at < 0 ? rest : rest.slice(0, at);
      text += plain;
      rest = rest.slice(plain.length);
      const marker = WHOLE.exec(rest);
      if (marker) {
        this.#cite(marker[1]!, this.#text.length + text.length);
        rest = rest.slice(marker[0].length);
      } else if (!isLast && PART.test(rest)) {
        this.#held = rest;
        break;
      } else {
        text += rest.slice(0, 1);
        rest = rest.slice(1);
      }
    }
    this.#text += text;
    return { text, annotations: this.annotations.slice(count) };
  }

  #cite(numbers: string, index: number): void {
    const citable = this.#known.markers.get(numbers);
    if (!citable) return;
    const { file_id, filename } = citable;
    this.annotations.push({ type: 'file_citation', index, file_id, filename });
  }
}
