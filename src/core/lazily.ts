import type * as z from 'zod';

/**
 * Made when it is first asked for, and kept. Schemas are made like this: each of their parts takes kilobytes, there are
 * thousands, and most processes use few of them.
 *
 *     const create = lazily(() => z.strictObject({ name: name(), note: note().optional() }));
 */
export function lazily<Value extends object>(make: () => Value): () => Value {
  let made: Value | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** What a schema makes of its input: `Checked<typeof create>`. */
export type Checked<Schema extends () => z.ZodType> = z.output<ReturnType<Schema>>;
