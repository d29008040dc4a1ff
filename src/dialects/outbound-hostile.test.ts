import { expect, test } from 'bun:test';
import { Random } from '../../test/dialects/random.ts';
import { attempt, casesOf, context, isClientsFault, isProvidersFault, spoilt } from '../../test/dialects/spoiling.ts';
import { fold } from './fold.ts';
import { dialects } from './index.ts';

/** Whatever a client or a provider sends, the answer is a named fault or a failure, never a bug of ours. */

const NAMES = ['gemini', 'converse', 'cohere'] as const;
const CLIENTS = ['openai-chat', 'anthropic'] as const;
const ROUNDS = 60;

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
        if (body) attempt(body, run, isProvidersFault);
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
