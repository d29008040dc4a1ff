/** Names as Bedrock allows them, each given once. */
export class DocumentNames {
  readonly #used = new Set<string>();

  /** Letters, digits, hyphens, brackets and single spaces; two documents of one name are refused. */
  nameFor(title: string | undefined): string {
    const plain = (title ?? '')
      .replace(/[^A-Za-z0-9\-()[\]]+/g, ' ')
      .trim()
      .slice(0, 150);
    const wanted = plain || 'document';
    let name = wanted;
    for (let copy = 2; this.#used.has(name); copy++) name = `${wanted} (${copy})`;
    this.#used.add(name);
    return name;
  }
}

const ALLOWED = /^[A-Za-z0-9_-]{1,64}$/;

/** Ids of calls that other providers gave may have signs, or a length, that Bedrock refuses. */
export class CallIds {
  readonly #known = new Map<string, string>();

  idFor(id: string): string {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const given = new Set(this.#known.values());
    const wanted = ALLOWED.test(id) ? id : id.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 58) || 'call';
    let made = wanted;
    for (let copy = 2; given.has(made); copy++) made = `${wanted}_${copy}`;
    this.#known.set(id, made);
    return made;
  }
}
