import type { Area, OpenArea } from './area.ts';

/** Areas in the order in which they open. */
export interface Areas<Base extends object, Parts extends object> {
  readonly list: readonly ListedArea[];
  /** Adds an area that the gateway cannot do without. */
  with<Gives extends object>(area: Area<Parts, Gives>): Areas<Base, Parts & Gives>;
  /** Adds one that it can do without: what it gives may be missing, and areas that need it say so. */
  withOptional<Gives extends object>(area: Area<Parts, Gives>): Areas<Base, Parts & Partial<Gives>>;
  /** The same list without some of the optional ones. */
  without(...names: readonly string[]): Areas<Base, Parts>;
  /** Opens one after the other; when one fails, those that are open are closed. */
  open(base: Base): Promise<OpenAreas<Parts>>;
}

export interface OpenAreas<Parts extends object> {
  readonly parts: Parts;
  readonly opened: readonly OpenArea[];
  /** In reverse order. */
  close(): Promise<void>;
}

interface ListedArea extends Area<never, object> {
  readonly isOptional: boolean;
}

export const noAreas = <Base extends object>(): Areas<Base, Base> => listed<Base, Base>([]);

/** What the types of the list promise, in one place: each area gets what those before it gave. */
function listed<Base extends object, Parts extends object>(list: readonly ListedArea[]): Areas<Base, Parts> {
  return {
    list,
    with: (area) => listed([...list, { ...area, isOptional: false }]),
    withOptional: (area) => listed([...list, { ...area, isOptional: true }]),
    without: (...names) => {
      for (const name of names)
        if (!list.some((area) => area.name === name && area.isOptional))
          throw new RangeError(`There is no optional area "${name}".`);
      return listed(list.filter(({ name }) => !names.includes(name)));
    },
    open: async (base) => {
      const opened: OpenArea[] = [];
      const close = async () => {
        for (const area of opened.toReversed()) await area.close?.();
      };
      let parts: object = base;
      try {
        for (const { name, endsAtOnce, open } of list) {
          const area = await open(parts as never, [...opened]);
          opened.push({ ...area, name, endsAtOnce });
          parts = { ...parts, ...area.gives };
        }
      } catch (error) {
        await close();
        throw error;
      }
      return { parts: parts as Parts, opened, close };
    },
  };
}
