import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GatewayError } from '../core/errors.ts';
import type { ReplyContext } from './dialect.ts';
import { fold } from './fold.ts';
import { FramingError } from './framing-error.ts';
import { dialects } from './index.ts';
import type { JsonObject } from './ir.ts';
import { Random } from './test-support.ts';

/** Whatever a client or a provider sends, the answer is a named fault or a failure, never a bug of ours. */

const BOTH = ['openai-chat', 'anthropic', 'responses'] as const;
const ROUNDS = 60;
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
const context: ReplyContext = { request: { model: 'm', includeUsage: true }, id: 'x', now: 0 };

interface Case {
  readonly request?: JsonObject;
  readonly reply?: JsonObject;
  readonly stream?: readonly { readonly event?: string; readonly data: unknown }[];
  readonly error?: { readonly status: number; readonly body: unknown };
}

function casesOf(name: string): Case[] {
  const folder = join(import.meta.dir, 'fixtures', name);
  return readdirSync(folder).map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Case);
}

/** A copy in which one member, chosen at random, is something else or gone. */
function spoilt<Value>(value: Value, random: Random): Value {
  const copy = structuredClone(value);
  const places: [holder: Record<string, unknown>, name: string][] = [];
  const walk = (node: unknown) => {
    if (typeof node !== 'object' || node === null) return;
    for (const [name, member] of Object.entries(node)) {
      places.push([node as Record<string, unknown>, name]);
      walk(member);
    }
  };
  walk(copy);
  if (places.length === 0) return copy;
  const [holder, name] = random.one(places);
  if (random.chance(0.2)) delete holder[name];
  else holder[name] = structuredClone(random.one(JUNK));
  return JSON.parse(JSON.stringify(copy));
}

function attempt(what: string, run: () => unknown, allowed: (error: unknown) => boolean) {
  try {
    run();
  } catch (error) {
    if (!allowed(error)) throw new Error(`${what}: ${error instanceof Error ? error.stack : error}`);
  }
}

const isClientsFault = (error: unknown) =>
  error instanceof GatewayError && error.code === 'invalid_request' && error.param !== null;
const isProvidersFault = (error: unknown) => error instanceof FramingError;

for (const name of BOTH) {
  const other = dialects[name === 'anthropic' ? 'openai-chat' : 'anthropic'];
  const { inbound, outbound } = dialects[name];

  test(`${name}: a spoilt request is refused by name, or translated`, () => {
    for (const { request } of casesOf(name)) {
      if (!request) continue;
      for (let seed = 0; seed < ROUNDS; seed++) {
        const random = new Random(seed);
        const body = spoilt(spoilt(request, random), random);
        const run = () => JSON.stringify(other.outbound!.encodeRequest(inbound!.decodeRequest(body)).body);
        attempt(JSON.stringify(body), run, isClientsFault);
      }
    }
  });

  test(`${name}: a spoilt reply is a provider’s fault, or translated`, () => {
    for (const { reply, error } of casesOf(name)) {
      for (let seed = 0; seed < ROUNDS; seed++) {
        const random = new Random(seed);
        const body = spoilt(spoilt(reply, random), random);
        const run = () => other.inbound!.encodeReply(outbound!.decodeReply(body), context);
        if (body) attempt(JSON.stringify(body), run, isProvidersFault);
        if (!error) continue;
        const failure = outbound!.decodeError(error.status, spoilt(error.body, random));
        expect(typeof other.inbound!.encodeError(failure).status).toBe('number');
      }
    }
  });

  test(`${name}: a spoilt stream ends with an error or with an answer, and throws never`, () => {
    for (const { stream } of casesOf(name)) {
      for (let seed = 0; stream && seed < ROUNDS; seed++) {
        const random = new Random(seed);
        const spoiltStream = spoilt(spoilt(stream, random), random).filter((event) => event && random.chance(0.97));
        const decoder = outbound!.decodeStream();
        const encoder = other.inbound!.encodeStream(context);
        const run = () => {
          const events = spoiltStream.flatMap(({ data }) =>
            decoder.push({ data: typeof data === 'string' ? data : JSON.stringify(data ?? null) }),
          );
          events.push(...decoder.end());
          fold(events);
          const last = [...events.flatMap((event) => encoder.push(event)), ...encoder.end()].at(-1);
          expect(last?.data).toMatch(/^\[DONE\]$|"message_stop"|"error"/);
        };
        attempt(JSON.stringify(spoiltStream), run, () => false);
      }
    }
  });
}
