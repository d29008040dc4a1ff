/** From here on, up to the next of these, a text stands below these headings, the outermost first. */
export interface Section {
  readonly start: number;
  readonly headings: readonly string[];
}

const LONGEST_TITLE = 200;

/** The headings of a text, as they come. */
export class Outline {
  readonly sections: Section[] = [];
  #open: { readonly level: number; readonly title: string }[] = [];

  /** A heading ends all that are as deep as it is, or deeper. */
  add(start: number, level: number, said: string): void {
    const title = said
      .slice(0, LONGEST_TITLE * 4)
      .replace(/\s+/g, ' ')
      .trim()
      .slice(0, LONGEST_TITLE)
      .toWellFormed();
    if (title === '') return;
    this.#open = [...this.#open.filter((each) => each.level < level), { level, title }];
    this.sections.push({ start, headings: this.#open.map((each) => each.title) });
  }

  clear(start: number): void {
    if (this.#open.length > 0) this.sections.push({ start, headings: [] });
    this.#open = [];
  }
}
