import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Random } from '../../test/dialects/random.ts';
import { randomReply } from '../../test/dialects/random-ir.ts';
import { eventsIn, fits, judgeEvent } from '../../test/vendor/judged-fetch.ts';
import { vendorSchemas } from '../../test/vendor/schemas.ts';
import { orderFaults } from '../../test/vendor/stream-order.ts';
import type { Dialect, ReplyContext } from './dialect.ts';
import { unfold } from './fold.ts';
import { dialects } from './index.ts';
import type { DialectName, ModelReply, Part, ReplyEvent } from './ir.ts';
import { formatSse, SseParser } from './sse.ts';

/** Answers and streams of every provider, written in OpenAI's two dialects, fit the types that OpenAI publishes. */

const folder = join(import.meta.dir, 'fixtures');
const cases = readdirSync(folder).flatMap((name) =>
  readdirSync(join(folder, name)).map((file) => ({
    ...JSON.parse(readFileSync(join(folder, name, file), 'utf8')),
    dialect: dialects[name as DialectName] as Dialect,
    label: `${name}/${file}`,
  })),
);
const SPEAKING = { responses: 'Response', 'openai-chat': 'ChatCompletion' } as const;
const contextOf = (request: ReplyContext['request'] = { model: 'm', includeUsage: true }): ReplyContext => ({
  ...{ request, id: 'resp_made_here', now: 1_760_000_000_000 },
});
const schemas = await vendorSchemas();

/** Without what a provider says beyond the meaning: it is passed on as it came, and here it is made up. */
const understood = (reply: ModelReply): ModelReply =>
  JSON.parse(JSON.stringify(reply), (name, value) => {
    if (name === 'ext') return undefined;
    return name === 'parts' ? value.filter(({ type }: Part) => type !== 'opaque') : value;
  });

for (const [name, type] of Object.entries(SPEAKING)) {
  const { encodeReply, encodeStream } = (dialects[name as DialectName] as Dialect).inbound!;
  const written = (reply: ModelReply, context: ReplyContext) =>
    fits(schemas, type as 'Response', JSON.parse(JSON.stringify(encodeReply(reply, context).body)));
  const streamed = (events: readonly ReplyEvent[], context: ReplyContext) => {
    const encoder = encodeStream(context);
    const told = eventsIn(
      [...events.flatMap((event) => encoder.push(event)), ...encoder.end()].map(formatSse).join(''),
    );
    const order = name === 'responses' ? orderFaults(told.map(({ data }) => data)) : [];
    return [...order, ...told.flatMap((event) => judgeEvent(schemas, event))];
  };

  test(`what the fixtures mean is told in ${name} as the vendor tells it`, () => {
    const found: string[] = [];
    for (const { label, dialect, means, stream } of cases) {
      const context = contextOf(means?.request);
      if (means?.reply) found.push(...written(means.reply, context).map((fault) => `${label} ${fault}`));
      if (!stream?.[0]?.data) continue;
      const text = stream.map(({ event, data }: { event?: string; data: unknown }) =>
        formatSse({ event, data: typeof data === 'string' ? data : JSON.stringify(data) }),
      );
      const parser = new SseParser();
      const decoder = dialect.outbound!.decodeStream();
      const told = [...parser.push(Buffer.from(text.join(''))), ...parser.end()];
      const events = [...told.flatMap((event) => decoder.push(event)), ...decoder.end()];
      found.push(...streamed(events, context).map((fault) => `${label} ${fault}`));
    }
    expect(found).toEqual([]);
  });

  test(`random answers are told in ${name} as the vendor tells them`, () => {
    for (let seed = 0; seed < 100; seed++) {
      const reply = understood(randomReply(new Random(seed)));
      expect({ seed, found: written(reply, contextOf()) }).toEqual({ seed, found: [] });
      expect({ seed, found: streamed([...unfold(reply, 3)], contextOf()) }).toEqual({ seed, found: [] });
    }
  });
}
