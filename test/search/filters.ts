import type { Attributes } from '../../src/assistants/vector-stores/chunk-index.ts';
import type { AttributeValue, Filter } from '../../src/assistants/vector-stores/search/filter.ts';

/** What filters mean, said once more and as plainly as can be. */
export function matches(filter: Filter, attributes: Attributes): boolean {
  if ('filters' in filter) {
    const each = filter.filters.map((one) => matches(one, attributes));
    return filter.type === 'and' ? each.every(Boolean) : each.some(Boolean);
  }
  const value = Object.hasOwn(attributes, filter.key) ? attributes[filter.key] : undefined;
  switch (filter.type) {
    case 'eq':
      return value === filter.value;
    case 'ne':
      return value !== filter.value;
    case 'in':
      return value !== undefined && filter.value.includes(value);
    case 'nin':
      return value === undefined || !filter.value.includes(value);
    default: {
      if (typeof value !== typeof filter.value) return false;
      const order = compared(value!, filter.value);
      return { gt: order > 0, gte: order >= 0, lt: order < 0, lte: order <= 0 }[filter.type];
    }
  }
}

const compared = (one: AttributeValue, other: AttributeValue): number =>
  typeof one === 'string' ? Buffer.compare(Buffer.from(one), Buffer.from(String(other))) : Number(one) - Number(other);

const KEYS = ['a', 'b', 'a"b', "it's", '$.x', 'ключ', '__proto__', '😀', 'a.b'];
const VALUES: readonly AttributeValue[] = [
  ...['', 'a', 'b', 'B', '1', 'true', "o'clock", '"', '😀', '\uFFFD', 'ä', '\\'],
  ...[0, 1, 1.5, -1, 2 ** 53, 2 ** 60, 1e21, 0.1, -0.000001, 10],
  ...[true, false],
];

const oneOf = <Item>(items: readonly Item[]): Item => items[Math.floor(Math.random() * items.length)]!;
const some = (most: number): number => 1 + Math.floor(Math.random() * most);

export function randomAttributes(): Attributes {
  const pairs = Array.from({ length: some(6) }, () => [oneOf(KEYS), oneOf(VALUES)] as const);
  return Object.fromEntries(pairs);
}

export function randomFilter(depth = 3): Filter {
  if (depth > 0 && Math.random() < 0.4)
    return {
      type: oneOf(['and', 'or'] as const),
      filters: Array.from({ length: some(3) }, () => randomFilter(depth - 1)),
    };
  const key = oneOf(KEYS);
  const type = oneOf(['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin'] as const);
  if (type === 'in' || type === 'nin')
    return { type, key, value: Array.from({ length: some(4) }, () => oneOf(VALUES)) };
  if (type === 'eq' || type === 'ne') return { type, key, value: oneOf(VALUES) };
  return { type, key, value: oneOf(VALUES.filter((value) => typeof value !== 'boolean')) };
}
