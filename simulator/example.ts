import { isObject, type JsonObject, objectIn, textIn } from './json.ts';

// A schema may contain itself; below this depth only what it demands is made.
const GENEROUS_DEPTH = 4;
const DEEPEST = 32;
const MOST_VALUES = 10_000;

/** A value that fits the schema. Patterns and rules between fields are beyond it. */
export const exampleOf = (schema: JsonObject): unknown => new Example(schema).of(schema, 0);

class Example {
  readonly #root: JsonObject;
  #made = 0;

  constructor(root: JsonObject) {
    this.#root = root;
  }

  of(schema: unknown, depth: number): unknown {
    this.#made += 1;
    if (!isObject(schema) || depth > DEEPEST || this.#made > MOST_VALUES) return null;
    if (typeof schema.$ref === 'string') return this.of(this.#referred(schema.$ref), depth + 1);
    if ('const' in schema) return schema.const;
    if (Array.isArray(schema.enum)) return schema.enum[0] ?? null;
    const choices = [schema.anyOf, schema.oneOf].find(Array.isArray);
    if (choices) return this.of(choice(choices, depth), depth + 1);
    if (Array.isArray(schema.allOf)) return this.of(this.#merged(schema), depth + 1);
    switch (typeOf(schema)) {
      case 'object':
        return this.#object(schema, depth);
      case 'array':
        return this.#array(schema, depth);
      case 'integer':
      case 'number':
        return exampleNumber(schema);
      case 'boolean':
        return true;
      case 'null':
        return null;
      default:
        return exampleString(schema);
    }
  }

  #referred(reference: string): unknown {
    let found: unknown = this.#root;
    for (const key of reference.split('/').slice(1)) {
      found = objectIn(found)[key.replaceAll('~1', '/').replaceAll('~0', '~')];
    }
    return found;
  }

  #merged({ allOf, ...rest }: JsonObject): JsonObject {
    const all: JsonObject = { ...rest };
    for (const part of (allOf as unknown[]).map(objectIn)) {
      const known = typeof part.$ref === 'string' ? objectIn(this.#referred(part.$ref)) : part;
      const properties = { ...objectIn(all.properties), ...objectIn(known.properties) };
      Object.assign(all, known, { properties, required: [...requiredOf(all), ...requiredOf(known)] });
    }
    return all;
  }

  #object(schema: JsonObject, depth: number): JsonObject {
    const required = new Set(requiredOf(schema));
    const properties = Object.entries(objectIn(schema.properties));
    const wanted = properties.filter(([name]) => depth < GENEROUS_DEPTH || required.has(name));
    // What must be there and is not described may be anything.
    const known = new Set(properties.map(([name]) => name));
    const undescribed = [...required].filter((name) => typeof name === 'string' && !known.has(name)) as string[];
    const all = [...wanted, ...undescribed.map((name): [string, unknown] => [name, {}])];
    return Object.fromEntries(all.map(([name, inner]) => [name, this.of(inner, depth + 1)]));
  }

  #array(schema: JsonObject, depth: number): unknown[] {
    if (Array.isArray(schema.prefixItems)) return schema.prefixItems.map((item) => this.of(item, depth + 1));
    const least = Number(schema.minItems ?? 0);
    const usual = depth < GENEROUS_DEPTH ? Math.min(1, Number(schema.maxItems ?? 1)) : 0;
    const length = Math.min(Math.max(least, usual), MOST_VALUES - Math.min(this.#made, MOST_VALUES));
    return Array.from({ length }, () => this.of(schema.items, depth + 1));
  }
}

const requiredOf = ({ required }: JsonObject): unknown[] => (Array.isArray(required) ? required : []);

function choice(choices: unknown[], depth: number): unknown {
  const nothing = choices.find((one) => objectIn(one).type === 'null');
  return depth >= GENEROUS_DEPTH && nothing !== undefined ? nothing : choices[0];
}

function typeOf({ type, properties, items }: JsonObject): string {
  const named = Array.isArray(type) ? type[0] : type;
  // Gemini writes its types in capitals.
  if (typeof named === 'string') return named.toLowerCase();
  return properties !== undefined ? 'object' : items !== undefined ? 'array' : 'string';
}

function exampleNumber(schema: JsonObject): number {
  const step = typeof schema.multipleOf === 'number' ? schema.multipleOf : 1;
  if (typeof schema.minimum === 'number') return Math.ceil(schema.minimum / step) * step;
  if (typeof schema.exclusiveMinimum === 'number') return (Math.floor(schema.exclusiveMinimum / step) + 1) * step;
  if (typeof schema.maximum === 'number') return Math.min(step, Math.floor(schema.maximum / step) * step);
  if (typeof schema.exclusiveMaximum === 'number') {
    return Math.min(step, (Math.ceil(schema.exclusiveMaximum / step) - 1) * step);
  }
  return step;
}

const FORMATS: Readonly<Record<string, string>> = {
  date: '2025-01-01',
  time: '12:00:00Z',
  'date-time': '2025-01-01T12:00:00Z',
  duration: 'PT1H',
  email: 'someone@example.com',
  hostname: 'example.com',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
};

function exampleString(schema: JsonObject): string {
  const format = FORMATS[textIn(schema.format) ?? ''];
  if (format !== undefined) return format;
  const least = Math.min(Number(schema.minLength ?? 0), 1000);
  return 'simulated'.padEnd(least, '.').slice(0, Number(schema.maxLength ?? Number.POSITIVE_INFINITY));
}
