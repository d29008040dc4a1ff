import { expect, test } from 'bun:test';
import { bare, disorder, without } from '../../test/dialects/comparing.ts';
import { Random } from '../../test/dialects/random.ts';
import { randomReply, randomRequest } from '../../test/dialects/random-ir.ts';
import type { Quirks, ReplyContext } from './dialect.ts';
import { fold, unfold } from './fold.ts';
import { dialects } from './index.ts';
import type { DialectName, ModelReply, ReplyEvent } from './ir.ts';
import { formatSse, SseParser } from './sse.ts';

const ROUNDS = 500;
const BOTH_HALVES: readonly [DialectName, Quirks][] = [
  ['openai-chat', {}],
  ['openai-chat', { cacheMarks: 'cache_control', reasoningHistory: 'content_blocks', maxTokensField: 'max_tokens' }],
  ['anthropic', {}],
  ['responses', {}],
  ['responses', { cacheMarks: 'prompt_cache_breakpoint' }],
];
/** To see a failure again, put its seed here. */
const FIRST_SEED = 20_260_101;

/** Runs a law on many random values; what fails is told with its seed. A law that hardly ever applies proves nothing. */
function hold(law: (random: Random) => boolean) {
  let applied = 0;
  for (let seed = FIRST_SEED; seed < FIRST_SEED + ROUNDS; seed++) {
    try {
      if (law(new Random(seed))) applied++;
    } catch (error) {
      throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : error}`);
    }
  }
  expect(applied).toBeGreaterThan(ROUNDS / 4);
}

for (const [name, quirks] of BOTH_HALVES) {
  const { inbound, outbound } = dialects[name];
  const how = JSON.stringify(quirks);

  test(`${name} ${how}: a request that was written and read again lacks exactly what was reported`, () => {
    hold((random) => {
      const request = randomRequest(random);
      const before = structuredClone(request);
      const { body, dropped, changed } = outbound!.encodeRequest(request, quirks);
      expect(request).toEqual(before);
      const again = bare(inbound!.decodeRequest(JSON.parse(JSON.stringify(body))));
      if (changed.length > 0) return false;
      expect(again).toEqual(
        without(
          request,
          dropped.map(({ path }) => path),
        ),
      );
      return true;
    });
  });
}

const finished = (reply: ModelReply): ModelReply => ({
  ...reply,
  choices: reply.choices.map(({ finish: { raw, ...finish }, ...choice }) => ({ ...choice, finish })),
});

for (const name of ['openai-chat', 'anthropic', 'responses', 'gemini'] as const) {
  const { inbound, outbound } = dialects[name];
  const context = (model: string, isStrict: boolean): ReplyContext => ({
    request: { model, includeUsage: true },
    id: 'made-here',
    now: 1_760_000_000_000,
    isStrict,
  });

  test(`${name}: a reply that was written and read again lacks exactly what was reported`, () => {
    hold((random) => {
      const reply = { createdAt: 1, ...randomReply(random) };
      const { body, dropped, changed } = inbound!.encodeReply(reply, context('m', random.chance(0.3)));
      const again = outbound!.decodeReply(JSON.parse(JSON.stringify(body)));
      if (changed.length > 0) return false;
      expect(finished(again)).toEqual(
        finished(
          without(
            reply,
            dropped.map(({ path }) => path),
          ),
        ),
      );
      return true;
    });
  });

  test(`${name}: a streamed reply, folded, is the reply in one piece, and the cuts do not matter`, () => {
    hold((random) => {
      const reply = randomReply(random);
      const isStrict = random.chance(0.3);
      const { body } = inbound!.encodeReply(reply, context('m', isStrict));
      const whole = outbound!.decodeReply(JSON.parse(JSON.stringify(body)));

      const encoder = inbound!.encodeStream(context('m', isStrict));
      const written = [...unfold(reply, 1 + random.below(6))].flatMap((event) => encoder.push(event));
      const bytes = new TextEncoder().encode([...written, ...encoder.end()].map(formatSse).join(''));
      const cut = random.below(bytes.length);

      const parser = new SseParser();
      const decoder = outbound!.decodeStream();
      const events: ReplyEvent[] = [bytes.subarray(0, cut), bytes.subarray(cut)].flatMap((piece) =>
        parser.push(piece).flatMap((event) => decoder.push(event)),
      );
      const all = [...events, ...decoder.end()];
      expect(disorder(all)).toEqual([]);
      const folded = fold(all);
      expect(folded.failure).toBeUndefined();
      expect(joined(folded.reply)).toEqual(joined(whole));
      return true;
    });
  });
}

/** Texts in a row are one text in a stream of chat. */
function joined(reply: ModelReply): ModelReply {
  const choices = reply.choices.map((choice) => {
    const parts = choice.parts.filter((part, index) => {
      const before = choice.parts[index - 1];
      return !(part.type === 'text' && before?.type === 'text');
    });
    const texts = choice.parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
    return { ...choice, parts: parts.map((part) => (part.type === 'text' ? { ...part, text: texts.join('') } : part)) };
  });
  return { ...reply, choices };
}

test('what was unfolded folds to the same reply', () => {
  hold((random) => {
    const reply = randomReply(random);
    expect(fold(unfold(reply, 1 + random.below(5))).reply).toEqual(reply);
    return true;
  });
});
