import type * as z from 'zod';

const made = new WeakMap<() => z.ZodType, z.ZodType>();

/**
 * The schema that a function makes: made when it is first asked for, and kept. Each part of a schema takes kilobytes, there
 * are thousands, and most processes use few of them; so schemas are written as functions, and routes are given these. What
 * else checks a value asks here, because to make a schema takes longer than to use it; so does a schema of which a large
 * part is in others, too.
 *
 *     const create = () => z.strictObject({ name: name(), limits: schemaOf(limits).optional() });
 *     const { data } = schemaOf(create).safeParse(value);
 */
export function schemaOf<Schema extends z.ZodType>(make: () => Schema): Schema {
  let schema = made.get(make) as Schema | undefined;
  if (!schema) {
    schema = make();
    made.set(make, schema);
  }
  return schema;
}

/** What a schema makes of its input: `Checked<typeof create>`. */
export type Checked<Schema extends () => z.ZodType> = z.output<ReturnType<Schema>>;
