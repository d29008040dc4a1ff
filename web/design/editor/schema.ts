import type { Path } from './places.ts';

/** The parts of JSON Schema that help people write. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly [more: string]: unknown;
}

/** What a schema may mean, with references followed and alternatives side by side. */
export function meanings(schema: Schema, root: Schema, depth = 0): Schema[] {
  if (depth > 8) return [];
  const { $ref } = schema;
  if ($ref) {
    const target = $ref
      .replace(/^#\/?/, '')
      .split('/')
      .filter(Boolean)
      .reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], root);
    return target ? meanings(target as Schema, root, depth + 1) : [];
  }
  const parts = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  return parts.length > 0 ? parts.flatMap((each) => meanings(each, root, depth + 1)) : [schema];
}

/** The schemas that hold at a path. */
export function schemasAt(root: Schema, path: Path): Schema[] {
  let here = meanings(root, root);
  for (const step of path)
    here = here.flatMap((each) => {
      const below = typeof step === 'number' ? each.items : (each.properties?.[step] ?? each.additionalProperties);
      return below && typeof below === 'object' ? meanings(below, root) : [];
    });
  return here;
}

/** What a member may be, in a few words: `string`, `number, 0 to 5`, `"simple"`. */
export function kindOf(schema: Schema, root: Schema): string {
  const all = meanings(schema, root).map((each) => {
    if (each.const !== undefined) return JSON.stringify(each.const);
    if (each.enum) return each.enum.map((value) => JSON.stringify(value)).join(' | ');
    const type = String(each.type ?? 'any');
    if (type !== 'integer' && type !== 'number') return type === 'array' ? 'list' : type;
    const isBounded = each.maximum !== undefined && Math.abs(each.maximum) < 2 ** 31;
    return isBounded ? `number, ${each.minimum ?? '…'} to ${each.maximum}` : 'number';
  });
  return [...new Set(all)].join(' or ');
}
