/** What is said about a passage of a text, without the passage: `{ type: 'file_citation', file_citation: { file_id } }`. */
export type AnnotationBody = Readonly<Record<string, unknown>> & { readonly type: string };

/** A passage of a text with what is said about it. Places count UTF-16 units, as JavaScript's strings do. */
export interface Annotation extends AnnotationBody {
  readonly text: string;
  readonly start_index: number;
  readonly end_index: number;
}

/** A kind of passage that a model writes and that means something. */
export interface Mark {
  /** Every passage begins with this character. */
  readonly first: string;
  /** A whole passage at the beginning of the text; what follows it may be looked at. A text ends with a line break. */
  readonly whole: RegExp;
  /** A text, to its end, that is not yet a whole passage and may become one. */
  readonly part: RegExp;
  /** A part that can be nothing else: when the text ends with it, it is left out. */
  readonly stump?: RegExp;
  /** What is said about it. Null: the passage means nothing, and is left out. */
  readonly meaning: (passage: string) => AnnotationBody | null;
}

export interface Said {
  readonly text: string;
  readonly annotations: readonly Annotation[];
}

/** A text that grows. What may still become a mark is held back until it is one, or none. */
export class AnnotatedText {
  readonly #marks: readonly Mark[];
  readonly #annotations: Annotation[] = [];
  #value = '';
  /** What the last piece has added to it. */
  #growth = '';
  #held = '';

  constructor(marks: readonly Mark[]) {
    this.#marks = marks;
  }

  /** Everything but what is held back. */
  get value(): string {
    return this.#value;
  }

  get annotations(): readonly Annotation[] {
    return this.#annotations;
  }

  /** Takes a piece; answers what can be told. */
  push(piece: string): Said {
    return this.#grown(piece, false);
  }

  /** Nothing comes any more. */
  end(): Said {
    return this.#grown('', true);
  }

  /** The growth is put together by itself: cutting it out of the whole would copy the whole for each piece. */
  #grown(piece: string, isLast: boolean): Said {
    const count = this.#annotations.length;
    this.#growth = '';
    this.#read(this.#held + piece, isLast);
    return { text: this.#growth, annotations: this.#annotations.slice(count) };
  }

  #read(text: string, isLast: boolean) {
    this.#held = '';
    let rest = text;
    while (rest !== '') {
      const at = this.#nextMark(rest);
      this.#add(rest.slice(0, at));
      rest = rest.slice(at);
      const taken = this.#take(rest, isLast);
      if (taken === null) {
        this.#held = rest;
        return;
      }
      rest = rest.slice(taken);
    }
  }

  #add(text: string) {
    this.#value += text;
    this.#growth += text;
  }

  #nextMark(text: string): number {
    const places = this.#marks.map(({ first }) => text.indexOf(first)).filter((place) => place >= 0);
    return places.length > 0 ? Math.min(...places) : text.length;
  }

  /** How much of the text is done with; null: more has to come before that can be said. */
  #take(text: string, isLast: boolean): number | null {
    let isOpen = false;
    for (const { first, whole, part, stump, meaning } of this.#marks) {
      if (!text.startsWith(first)) continue;
      const passage = whole.exec(isLast ? `${text}\n` : text)?.[0];
      if (passage !== undefined) {
        this.#mean(passage, meaning(passage));
        return passage.length;
      }
      isOpen ||= part.test(text);
      if (isLast && isOpen && stump?.test(text)) return text.length;
    }
    if (isOpen && !isLast) return null;
    this.#add(text.slice(0, 1));
    return 1;
  }

  #mean(passage: string, body: AnnotationBody | null) {
    if (!body) return;
    const start = this.#value.length;
    this.#add(passage);
    this.#annotations.push({ ...body, text: passage, start_index: start, end_index: start + passage.length });
  }
}

/** A text without the passages that annotations point at. */
export function withoutPassages(value: string, annotations: readonly Readonly<Record<string, unknown>>[]): string {
  let text = value;
  const last = [...annotations].sort((one, other) => Number(other.start_index) - Number(one.start_index));
  for (const { start_index: start, end_index: end } of last)
    if (typeof start === 'number' && typeof end === 'number') text = text.slice(0, start) + text.slice(end);
  return text;
}
