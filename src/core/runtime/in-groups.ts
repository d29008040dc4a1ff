/**
 * Collects all items that arrive in one turn of the event loop and handles them one after the other at its end. Bun
 * would otherwise do its own work between two of them. Handled in a row, they find code and data still in the
 * processor's caches, which saves time under load. An item that arrives alone does not wait for others.
 */
export class InGroups<Item> {
  readonly #use: (item: Item) => void;
  #items: Item[] = [];

  constructor(use: (item: Item) => void) {
    this.#use = use;
  }

  add(item: Item): void {
    if (this.#items.push(item) === 1) setImmediate(this.#later);
  }

  /** At once: for what must not overtake those that wait. */
  flush(): void {
    const items = this.#items;
    if (items.length === 0) return;
    this.#items = [];
    for (const item of items) {
      try {
        this.#use(item);
      } catch (error) {
        // One that fails is reported as if it had been alone, and the others do not notice.
        reportError(error);
      }
    }
  }

  readonly #later = () => this.flush();
}
