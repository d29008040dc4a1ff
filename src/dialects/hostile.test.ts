import { expect, test } from 'bun:test';
import { Random } from '../../test/dialects/random.ts';
import { attempt, casesOf, context, isClientsFault, isProvidersFault, spoilt } from '../../test/dialects/spoiling.ts';
import { fold } from './fold.ts';
import { dialects } from './index.ts';

/** Whatever a client or a provider sends, the answer is a named fault or a failure, never a bug of ours. */

const BOTH = ['openai-chat', 'anthropic', 'responses', 'gemini'] as const;
const ROUNDS = 60;

for (const name of BOTH) {
  const other = dialects[name === 'anthropic' ? 'openai-chat' : 'anthropic'];
  const { inbound, outbound } = dialects[name];

  test(`${name}: a spoilt request is refused by name, or translated`, () => {
    for (const { request } of casesOf(name)) {
      if (!request) continue;
      for (let seed = 0; seed < ROUNDS; seed++) {
        const random = new Random(seed);
        // Google's clients name the model in the address.
        const body = spoilt(name === 'gemini' ? { model: 'm', ...request } : request, random);
        const run = () => JSON.stringify(other.outbound!.encodeRequest(inbound!.decodeRequest(body)).body);
        attempt(body, run, isClientsFault);
      }
    }
  });

  test(`${name}: a spoilt reply is a provider’s fault, or translated`, () => {
    for (const { reply, error } of casesOf(name)) {
      for (let seed = 0; seed < ROUNDS; seed++) {
        const random = new Random(seed);
        const body = reply && spoilt(reply, random);
        const run = () => other.inbound!.encodeReply(outbound!.decodeReply(body), context);
        if (body) attempt(body, run, isProvidersFault);
        if (!error) continue;
        const failure = outbound!.decodeError(error.status, spoilt(error.body, random, 1));
        expect(typeof other.inbound!.encodeError(failure).status).toBe('number');
      }
    }
  });

  test(`${name}: a spoilt stream ends with an error or with an answer, and throws never`, () => {
    for (const { stream } of casesOf(name)) {
      for (let seed = 0; stream && seed < ROUNDS; seed++) {
        const random = new Random(seed);
        const spoiltStream = spoilt(stream, random).filter((event) => event && random.chance(0.97));
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
        attempt(spoiltStream, run, () => false);
      }
    }
  });
}
