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

const NAMES = ['gemini', 'converse', 'cohere'] as const;
const CLIENTS = ['openai-chat', 'anthropic'] as const;
const ROUNDS = 60;
const JUNK = [null, 0, -1.5, 1e300, '', 'x', 'constructor', '__proto__', true, [], {}, [[]], [null], { type: 'text' }];
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

/** A copy in which two members, chosen at random, are something else or gone. */
function spoilt<Value>(value: Value, random: Random, times = 2): Value {
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

function attempt(what: unknown, run: () => unknown, allowed: (error: unknown) => boolean) {
  try {
    run();
  } catch (error) {
    if (!allowed(error)) throw new Error(`${JSON.stringify(what)}: ${error instanceof Error ? error.stack : error}`);
  }
}

const isClientsFault = (error: unknown) =>
  error instanceof GatewayError && error.code === 'invalid_request' && error.param !== null;

for (const name of NAMES) {
  const outbound = dialects[name].outbound!;

  for (const client of CLIENTS)
    test(`${client} to ${name}: a spoilt request is refused by name, or translated`, () => {
      for (const { request } of casesOf(client)) {
        for (let seed = 0; request && seed < ROUNDS; seed++) {
          const body = spoilt(request, new Random(seed));
          const run = () => JSON.stringify(outbound.encodeRequest(dialects[client].inbound!.decodeRequest(body)).body);
          attempt(body, run, isClientsFault);
        }
      }
    });

  test(`${name}: a spoilt reply is a provider’s fault, or translated for every client`, () => {
    for (const { reply, error } of casesOf(name)) {
      for (let seed = 0; seed < ROUNDS; seed++) {
        const random = new Random(seed);
        const body = reply && spoilt(reply, random);
        const run = () => {
          const meant = outbound.decodeReply(body);
          for (const client of CLIENTS) JSON.stringify(dialects[client].inbound!.encodeReply(meant, context).body);
        };
        if (body) attempt(body, run, (fault) => fault instanceof FramingError);
        if (error) expect(outbound.decodeError(error.status, spoilt(error.body, random)).message).not.toBe('');
      }
    }
  });

  test(`${name}: a spoilt stream ends with an error or with an answer for every client, and throws never`, () => {
    for (const { stream } of casesOf(name)) {
      for (let seed = 0; stream && seed < ROUNDS; seed++) {
        const random = new Random(seed);
        const events = spoilt(stream, random).filter((event) => event && random.chance(0.97));
        const run = () => {
          const decoder = outbound.decodeStream();
          const meant = events.flatMap(({ event, data }) => {
            const text = typeof data === 'string' ? data : JSON.stringify(data ?? null);
            return decoder.push({ ...(typeof event === 'string' && { event }), data: text });
          });
          meant.push(...decoder.end());
          fold(meant);
          for (const client of CLIENTS) {
            const encoder = dialects[client].inbound!.encodeStream(context);
            const last = [...meant.flatMap((event) => encoder.push(event)), ...encoder.end()].at(-1);
            expect(last?.data).toMatch(/^\[DONE\]$|"message_stop"|"error"/);
          }
        };
        attempt(events, run, () => false);
      }
    }
  });
}
