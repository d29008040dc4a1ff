import type { Changed, Dropped, Encoded } from './dialect.ts';
import type { DialectName, Ext, JsonObject, Origin, Settings } from './ir.ts';

interface Placed {
  readonly at?: string;
  readonly ext?: Ext;
}

/** A setting, or a member of one: `responseFormat.name`. */
type SettingPath = keyof Settings | `${keyof Settings}.${string}`;

/** Takes note of everything an encoder cannot say, or says in another way, in the client's words where they are known. */
export class Losses {
  readonly #into: DialectName;
  readonly #origin: Origin | undefined;
  readonly #dropped: Dropped[] = [];
  readonly #changed: Changed[] = [];

  constructor(into: DialectName, origin?: Origin) {
    this.#into = into;
    this.#origin = origin;
  }

  /** A setting that changes the answer: the call has to be refused. */
  need(name: SettingPath, why: string) {
    this.#dropped.push({ path: this.#nameOf(name), why, matters: true });
  }

  /** A setting the answer can do without. */
  hint(name: SettingPath, why = `${this.#into} has no such setting`) {
    this.#dropped.push({ path: this.#nameOf(name), why, matters: false });
  }

  /** A whole node. `path` is its place in the request, used when the client's is not known. */
  node(node: Placed, path: string, why: string, matters = true) {
    this.#dropped.push({ path: node.at ?? path, why, matters });
  }

  /** One member of a node. */
  member(node: Placed, path: string, name: string, why: string, matters = false) {
    const full = node.at === undefined ? `${path}.${name}` : `${node.at}.${this.#nameOf(name)}`;
    this.#dropped.push({ path: full, why, matters });
  }

  change(node: Placed, path: string, how: string) {
    this.#changed.push({ path: node.at ?? path, how });
  }

  changeSetting(name: SettingPath, how: string) {
    this.#changed.push({ path: this.#nameOf(name), how });
  }

  /** Notes members of other dialects, and answers those of this one, to be written into the body. */
  ext(node: Placed, path: string): JsonObject | undefined {
    if (!node.ext) return undefined;
    for (const dialect in node.ext) {
      if (dialect === this.#into) continue;
      for (const name in node.ext[dialect as DialectName]) {
        const full = node.at === undefined ? `${path}.ext.${dialect}.${name}` : `${node.at}.${name}`;
        this.#dropped.push({ path: full, why: `only ${dialect} has this member`, matters: false });
      }
    }
    return node.ext[this.#into];
  }

  /** The same for the request as a whole, where some members are essential. */
  requestExt(ext: Ext | undefined): JsonObject | undefined {
    for (const dialect in ext) {
      if (dialect === this.#into) continue;
      const isOrigin = dialect === this.#origin?.dialect;
      for (const name in ext[dialect as DialectName]) {
        const matters = isOrigin && (this.#origin?.essential?.includes(name) ?? false);
        const path = isOrigin ? name : `ext.${dialect}.${name}`;
        this.#dropped.push({ path, why: `only ${dialect} has this member`, matters });
        if (isOrigin) this.#essentialIn(name, ext[dialect as DialectName]?.[name]);
      }
    }
    return ext?.[this.#into];
  }

  /** Of a member that is none by itself, such as `config`, those that are: `config.voice`. */
  #essentialIn(name: string, value: unknown) {
    if (typeof value !== 'object' || value === null) return;
    for (const path of this.#origin?.essential ?? []) {
      if (path.startsWith(`${name}.`) && Object.hasOwn(value, path.slice(name.length + 1)))
        this.#dropped.push({ path, why: `only ${this.#origin?.dialect} has this member`, matters: true });
    }
  }

  with<Body extends object>(body: Body): Encoded<Body> {
    return { body, dropped: this.#dropped, changed: this.#changed };
  }

  #nameOf(name: string): string {
    return this.#origin?.names[name] ?? name;
  }
}
