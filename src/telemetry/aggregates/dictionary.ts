import { BoundedMap } from '../../core/bounded-map.ts';
import { type Cube, type Kind, kindOf, metadataCube, textOfKind } from './cubes.ts';
import type { Guard } from './guard.ts';
import type { CoreIds, Ids } from './spread.ts';
import type { Statements } from './statements.ts';
import { type Kinds, kindsOf, sharedIn, type Whole } from './wholes.ts';
import type { Work } from './work.ts';

/** What is remembered of kinds; more are looked up again. */
const MOST_KNOWN = 50_000;
const MOST_CORES = 20_000;

/** Kinds with the texts of those that nearly every call differs by: to write them takes longer than all else about them. */
interface Named {
  readonly kinds: Kinds;
  readonly core: string;
  readonly user: string;
  readonly combined: string;
  readonly metadata: readonly string[];
}

const namesOf = (kinds: Kinds): Named => ({
  kinds,
  core: textOfKind(kinds.core),
  user: textOfKind(kinds.user),
  combined: textOfKind(kinds.combined),
  metadata: kinds.metadata.map(textOfKind),
});

/** Ids of kinds, given as they come. */
export class Dictionary {
  readonly #sql: Statements;
  readonly #guard: Guard;
  readonly #keys: readonly string[];
  /** By the text of a kind, as it was asked for; the guard may have given another. */
  readonly #ids = new Map<string, number>();
  readonly #cores = new Map<string, CoreIds>();
  readonly #wholes = new Map<string, Ids>();
  /** By their ids. */
  readonly #coreKinds = new BoundedMap<number, Kind>(MOST_CORES);
  #knownAt = -1;

  constructor(sql: Statements, guard: Guard, keys: readonly string[]) {
    this.#sql = sql;
    this.#guard = guard;
    this.#keys = keys;
  }

  /** What was found out in a transaction that failed is not true. */
  forget(): void {
    this.#ids.clear();
    this.#cores.clear();
    this.#wholes.clear();
    this.#coreKinds.clear();
  }

  /** The cores with these ids; null for those whose workspace was deleted. */
  *coresOf(ids: Iterable<number>, changed: number): Work<(id: number) => Kind | null> {
    if (this.#knownAt !== changed) this.forget();
    this.#knownAt = changed;
    const found = new Map<number, Kind>();
    const unknown: [id: number][] = [];
    for (const id of ids) {
      const known = this.#coreKinds.get(id);
      if (known) found.set(id, known);
      else unknown.push([id]);
    }
    if (unknown.length > 0)
      for (const { id, text } of (yield { text: this.#sql.kindsById, rows: unknown }) as {
        id: number;
        text: string;
      }[]) {
        found.set(id, kindOf(text));
        this.#coreKinds.set(id, found.get(id)!);
      }
    return (id) => found.get(id) ?? null;
  }

  /** Sees to it that all these have ids. `changed`: how often kinds were renamed or deleted. */
  *settle(wholes: Iterable<Whole>, changed: number): Work<(text: string) => Ids> {
    if (this.#knownAt !== changed || this.#ids.size > MOST_KNOWN || this.#wholes.size > MOST_KNOWN) this.forget();
    this.#knownAt = changed;
    const fresh = new Map<string, Named>();
    const asked = new Set<string>();
    for (const { text } of wholes) {
      if (this.#wholes.has(text) || fresh.has(text)) continue;
      const named = namesOf(kindsOf(sharedIn(text), this.#keys));
      fresh.set(text, named);
      for (const name of [named.user, named.combined, ...named.metadata]) asked.add(name);
      if (this.#cores.has(named.core) || asked.has(named.core)) continue;
      for (const kind of [named.kinds.total, ...named.kinds.dimensions()]) asked.add(textOfKind(kind));
      asked.add(named.core);
    }
    if (fresh.size > 0) {
      yield* this.#intern(asked);
      for (const [text, named] of fresh) this.#wholes.set(text, this.#idsOf(named));
    }
    return (text) => this.#wholes.get(text)!;
  }

  #idsOf({ kinds: { total, dimensions }, core, user, combined, metadata }: Named): Ids {
    const idOf = (text: string) => this.#ids.get(text)!;
    let shared = this.#cores.get(core);
    if (!shared) {
      const parts = dimensions().map((kind): [Cube, number] => [kind.cube as Cube, idOf(textOfKind(kind))]);
      shared = { id: idOf(core), total: idOf(textOfKind(total)), dimensions: parts };
      this.#cores.set(core, shared);
    }
    return {
      core: shared,
      user: idOf(user),
      combined: idOf(combined),
      metadata: this.#keys.map((key, at) => [metadataCube(key), idOf(metadata[at]!)]),
    };
  }

  *#intern(asked: ReadonlySet<string>): Work<void> {
    yield* this.#find([...asked].map((text) => [text, text]));
    const named = [...asked].flatMap((text): [string, string][] =>
      this.#ids.has(text) ? [] : [[text, this.#guard.admit(text)]],
    );
    yield* this.#find(named);
    const fresh = new Set(named.flatMap(([text, name]) => (this.#ids.has(text) ? [] : [name])));
    if (fresh.size === 0) return;
    const rows = [...fresh].map((text) => {
      const { cube, workspaceId } = kindOf(text);
      return [keyOf(text), text, workspaceId, cube];
    });
    const ids = (yield { text: this.#sql.addKinds, rows }) as { id: number; key: string }[];
    this.#learn(named, ids);
  }

  /** `named`: the text that was asked for, and the text that it goes by. */
  *#find(named: readonly (readonly [text: string, name: string])[]): Work<void> {
    const unknown = named.filter(([text]) => !this.#ids.has(text));
    if (unknown.length === 0) return;
    const rows = [...new Set(unknown.map(([, name]) => keyOf(name)))].map((key) => [key]);
    this.#learn(unknown, (yield { text: this.#sql.findKinds, rows }) as { id: number; key: string }[]);
  }

  #learn(named: readonly (readonly [text: string, name: string])[], found: readonly { id: number; key: string }[]) {
    const byKey = new Map(found.map(({ id, key }) => [key, id]));
    for (const [text, name] of named) {
      const id = byKey.get(keyOf(name));
      if (id !== undefined) this.#ids.set(text, id);
    }
  }
}

/** Texts can be longer than an index takes. */
const keyOf = (text: string): string => new Bun.CryptoHasher('sha256').update(text).digest('base64').slice(0, 24);
