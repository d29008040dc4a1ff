import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GatewayError } from '../../src/core/errors.ts';
import type { ReplyContext } from '../../src/dialects/dialect.ts';
import { FramingError } from '../../src/dialects/framing-error.ts';
import type { JsonObject } from '../../src/dialects/ir.ts';
import type { Random } from './random.ts';

const JUNK = [
  null,
  0,
  -1.5,
  1e300,
  '',
  'x',
  'constructor',
  '__proto__',
  true,
  [],
  {},
  [[]],
  [null],
  { type: 'text' },
  { type: 7 },
];

export const context: ReplyContext = { request: { model: 'm', includeUsage: true }, id: 'x', now: 0 };

interface Case {
  readonly request?: JsonObject;
  readonly reply?: JsonObject;
  readonly stream?: readonly { readonly event?: string; readonly data: unknown }[];
  readonly error?: { readonly status: number; readonly body: unknown };
}

export function casesOf(name: string): Case[] {
  const folder = join(import.meta.dir, '../../src/dialects/fixtures', name);
  return readdirSync(folder).map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Case);
}

/** A copy in which two members, chosen at random, are something else or gone. */
export function spoilt<Value>(value: Value, random: Random, times = 2): Value {
  // Through JSON, in which no list has holes.
  const copy = JSON.parse(JSON.stringify(value)) as Value;
  const places: [holder: Record<string, unknown>, name: string][] = [];
  const walk = (node: unknown) => {
    if (typeof node !== 'object' || node === null) return;
    for (const [name, member] of Object.entries(node)) {
      places.push([node as Record<string, unknown>, name]);
      walk(member);
    }
  };
  walk(copy);
  if (places.length === 0 || times === 0) return copy;
  const [holder, name] = random.one(places);
  if (random.chance(0.2)) delete holder[name];
  else holder[name] = structuredClone(random.one(JUNK));
  return spoilt(copy, random, times - 1);
}

/** Throws what is not allowed, together with what led to it. */
export function attempt(what: unknown, run: () => unknown, allowed: (error: unknown) => boolean) {
  try {
    run();
  } catch (error) {
    if (!allowed(error)) throw new Error(`${JSON.stringify(what)}: ${error instanceof Error ? error.stack : error}`);
  }
}

export const isClientsFault = (error: unknown) =>
  error instanceof GatewayError && error.code === 'invalid_request' && error.param !== null;
export const isProvidersFault = (error: unknown) => error instanceof FramingError;
