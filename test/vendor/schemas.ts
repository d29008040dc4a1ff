import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { API, type Checker, SymbolFlags, type Type, TypeFlags } from 'typescript/unstable/async';
import type { Major, VendorType } from './openai-types.ts';

/** The part of JSON Schema that types can be said in. */
export interface Schema {
  readonly $ref?: number;
  readonly type?: 'string' | 'number' | 'boolean' | 'null' | 'array' | 'object';
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema;
}

/** By major and name; a `$ref` is an index of `defs`. */
export interface VendorSchemas {
  readonly roots: Readonly<Record<Major, Readonly<Record<VendorType, Schema>>>>;
  readonly defs: Readonly<Record<number, Schema>>;
}

const TYPES = fileURLToPath(new URL('./openai-types.ts', import.meta.url));
let found: Promise<VendorSchemas> | undefined;

/** Made by the compiler once for each version of what they are made of, and kept in the folder for temporary files. */
export function vendorSchemas(): Promise<VendorSchemas> {
  found ??= read().catch(() => derive());
  return found;
}

function placeOf(): string {
  const made = ['openai', 'openai-7', 'typescript'].map((name) =>
    readFileSync(new URL(`../../node_modules/${name}/package.json`, import.meta.url)),
  );
  const hash = new Bun.CryptoHasher('sha256');
  for (const text of [...made, readFileSync(TYPES), readFileSync(fileURLToPath(import.meta.url))]) hash.update(text);
  return join(tmpdir(), `gateway-vendor-schemas-${hash.digest('hex').slice(0, 16)}.json`);
}

const read = async (): Promise<VendorSchemas> => JSON.parse(readFileSync(placeOf(), 'utf8'));

async function derive(): Promise<VendorSchemas> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-vendor-schemas-'));
  const config = join(folder, 'tsconfig.json');
  const compilerOptions = {
    ...{ strict: true, noEmit: true, skipLibCheck: true, types: [], lib: ['esnext', 'dom'] },
    ...{ module: 'esnext', moduleResolution: 'bundler', target: 'esnext' },
  };
  writeFileSync(config, JSON.stringify({ compilerOptions, files: [TYPES] }));
  const api = new API({ cwd: folder });
  try {
    const snapshot = await api.updateSnapshot({ openProjects: [config] });
    const { checker } = snapshot.getProjects()[0]!;
    const at = readFileSync(TYPES, 'utf8').indexOf('VendorTypes');
    const symbol = await checker.getSymbolAtPosition(TYPES, at);
    const made = await new Deriving(checker).all(await checker.getDeclaredTypeOfSymbol(symbol!));
    const whole = join(folder, 'schemas.json');
    writeFileSync(whole, JSON.stringify(made));
    renameSync(whole, placeOf());
    return made;
  } finally {
    await api.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

const TEXT: Schema = { type: 'string' };

/** Goes from the roots to every type that they mention. */
class Deriving {
  readonly #checker: Checker;
  readonly #defs: Record<number, Schema> = {};
  #waiting: Type[] = [];

  constructor(checker: Checker) {
    this.#checker = checker;
  }

  async all(types: Type): Promise<VendorSchemas> {
    const root = await this.#schemaOf(types);
    while (this.#waiting.length > 0)
      await Promise.all(this.#waiting.splice(0).map(async (type) => this.#define(type.id, await this.#objectOf(type))));
    const whole = (schema: Schema): Schema => (schema.$ref === undefined ? schema : this.#defs[schema.$ref]!);
    const roots = Object.fromEntries(
      Object.entries(whole(root).properties!).map(([major, named]) => [major, whole(named).properties]),
    ) as unknown as VendorSchemas['roots'];
    return { roots, defs: this.#defs };
  }

  #define(id: number, schema: Schema): void {
    this.#defs[id] = schema;
  }

  async #schemaOf(type: Type): Promise<Schema> {
    const { flags } = type;
    if (flags & (TypeFlags.Any | TypeFlags.Unknown)) {
      if (type.isErrorType()) throw new Error('A type of the vendor is not found.');
      return {};
    }
    if (type.isLiteralType()) return { const: type.value };
    if (flags & TypeFlags.String) return TEXT;
    if (flags & TypeFlags.Number) return { type: 'number' };
    if (flags & TypeFlags.Boolean) return { type: 'boolean' };
    if (flags & TypeFlags.Null) return { type: 'null' };
    if (type.isUnionType()) {
      const parts = (await type.getTypes()).filter((part) => !(part.flags & TypeFlags.Undefined));
      const anyOf = await Promise.all(parts.map((part) => this.#schemaOf(part)));
      return anyOf.length === 1 ? anyOf[0]! : { anyOf };
    }
    // `string & {}` is how the vendor says that there are more names than those it lists.
    if (type.isIntersectionType() && (await type.getTypes()).some((part) => part.flags & TypeFlags.String)) return TEXT;
    if (!type.isObjectType() && !type.isIntersectionType())
      throw new Error(`There is no schema for ${await this.#checker.typeToString(type)}.`);
    if (!(type.id in this.#defs)) {
      this.#define(type.id, {});
      this.#waiting.push(type);
    }
    return { $ref: type.id };
  }

  async #objectOf(type: Type): Promise<Schema> {
    if (type.isTypeReference() && (await this.#checker.isArrayType(type))) {
      const [item] = await this.#checker.getTypeArguments(type);
      return { type: 'array', items: await this.#schemaOf(item!) };
    }
    const [members, indexes] = await Promise.all([
      this.#checker.getPropertiesOfType(type),
      this.#checker.getIndexInfosOfType(type),
    ]);
    const types = await this.#checker.getTypeOfSymbol(members);
    const schemas = await Promise.all(types.map((each) => this.#schemaOf(each!)));
    const required = members.filter(({ flags }) => !(flags & SymbolFlags.Optional)).map(({ name }) => name);
    return {
      type: 'object',
      properties: Object.fromEntries(members.map(({ name }, index) => [name, schemas[index]!])),
      required,
      ...(indexes[0] && { additionalProperties: await this.#schemaOf(indexes[0].valueType) }),
    };
  }
}
