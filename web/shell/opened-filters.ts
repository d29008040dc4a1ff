type Value = string | number | boolean;
export type Filters = Readonly<Record<string, Value>>;

/** Wider than the literals of the defaults: `{ status: '' }` holds any text. */
export type Widened<F extends Filters> = {
  readonly [K in keyof F]: F[K] extends string ? string : F[K] extends number ? number : boolean;
};

interface Addressed {
  /** What stands behind `?` in the address. */
  readonly search: Readonly<Record<string, unknown>>;
}

/** What the address says, as the kind of value that the default is: what `useFilters` will say in a page that is being opened. */
export function openedFilters<F extends Filters>({ search }: Addressed, defaults: F): Widened<F> {
  const found: Record<string, Value> = {};
  for (const [name, otherwise] of Object.entries(defaults)) {
    const given = search[name];
    if (given === undefined || given === null) found[name] = otherwise;
    else if (typeof otherwise === 'number') found[name] = Number.isFinite(Number(given)) ? Number(given) : otherwise;
    else if (typeof otherwise === 'boolean') found[name] = given === true || given === 'true';
    else found[name] = String(given);
  }
  return found as unknown as Widened<F>;
}
