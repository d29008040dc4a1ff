import { expect, test } from 'bun:test';
import { cohereSide } from '../../test/dialects/cohere-vendor.ts';
import { bare, without } from '../../test/dialects/comparing.ts';
import { converseSide } from '../../test/dialects/converse-vendor.ts';
import { geminiSide } from '../../test/dialects/gemini-vendor.ts';
import { Random } from '../../test/dialects/random.ts';
import { randomReply, randomRequest } from '../../test/dialects/random-ir.ts';
import { answered, randomPieces, type VendorSide } from '../../test/dialects/vendor-side.ts';
import { fold } from './fold.ts';
import { dialects } from './index.ts';
import type { DialectName, JsonObject, ModelReply, ModelRequest, ReasoningPart } from './ir.ts';
import { present } from './json.ts';

const ROUNDS = 400;
/** To see a failure again, put its seed here. */
const FIRST_SEED = 20_260_201;
const SIDES: readonly [DialectName, VendorSide][] = [
  ['gemini', geminiSide],
  ['converse', converseSide],
  ['cohere', cohereSide],
];

/** Runs a law on many random values; what fails is told with its seed. A law that hardly ever applies proves nothing. */
function hold(share: number, law: (random: Random) => boolean) {
  let applied = 0;
  for (let seed = FIRST_SEED; seed < FIRST_SEED + ROUNDS; seed++) {
    try {
      if (law(new Random(seed))) applied++;
    } catch (error) {
      throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : error}`);
    }
  }
  expect(applied).toBeGreaterThan(ROUNDS * share);
}

const MODELS: Readonly<Partial<Record<DialectName, readonly string[]>>> = {
  gemini: ['gemini-2.5-flash', 'gemini-3-pro-preview'],
  converse: ['us.anthropic.claude-opus-4-8', 'amazon.nova-pro-v1:0', 'meta.llama3-3-70b-instruct-v1:0'],
  cohere: ['command-a-03-2025'],
};
const PLAIN = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };

/** Most tools without references, which not every vendor takes as they are; some thoughts signed by the vendor itself. */
function requestFor(name: DialectName, random: Random): ModelRequest {
  const request = answered(randomRequest(random));
  const tools = request.tools?.map((tool) =>
    tool.type === 'function' && random.chance(0.7) ? { ...tool, parameters: PLAIN } : tool,
  );
  const turns = request.turns.map((turn) => ({
    ...turn,
    parts: turn.parts.map((part) => (part.type === 'reasoning' ? signedAnew(part, name) : part)),
  }));
  return { ...request, model: random.one(MODELS[name]!), turns, ...(tools && { tools }) };
}

const signedAnew = (part: ReasoningPart, name: DialectName): ReasoningPart =>
  part.signedBy ? { ...part, signedBy: part.signedBy === 'anthropic' ? name : 'openai-chat' } : part;

/** The address says whether the answer is streamed; to let the model choose is to say nothing; tools have no order. */
function heard({ stream, includeUsage, toolChoice, tools, ...request }: ModelRequest): ModelRequest {
  return present<ModelRequest>({
    ...request,
    toolChoice: toolChoice?.type === 'auto' ? undefined : toolChoice,
    tools: tools?.toSorted((one, other) => one.type.localeCompare(other.type)),
  });
}

const withoutRaw = (reply: ModelReply): ModelReply => ({
  ...reply,
  choices: reply.choices.map(({ finish: { raw, ...finish }, ...choice }) => ({ ...choice, finish })),
});

for (const [name, side] of SIDES) {
  const outbound = dialects[name].outbound!;

  test(`${name}: a request that was written and read again lacks exactly what was reported`, () => {
    hold(0.15, (random) => {
      const request = requestFor(name, random);
      const before = structuredClone(request);
      const { body, dropped, changed } = outbound.encodeRequest(request);
      expect(request).toEqual(before);
      const again = side.readRequest(JSON.parse(JSON.stringify(body)) as JsonObject, request.model);
      if (changed.length > 0) return false;
      const paths = dropped.map(({ path }) => path);
      expect(heard(bare(again))).toEqual(heard(without(request, paths)));
      return true;
    });
  });

  test(`${name}: a reply is read as it was meant`, () => {
    hold(0.9, (random) => {
      const reply = side.sayable(randomReply(random));
      expect(withoutRaw(outbound.decodeReply(side.writeReply(reply)))).toEqual(withoutRaw(reply));
      return true;
    });
  });

  test(`${name}: a streamed reply, folded, is the reply in one piece, however it is cut`, () => {
    hold(0.9, (random) => {
      const reply = side.sayable(randomReply(random));
      const decoder = outbound.decodeStream();
      const events = side.writeStream(reply, randomPieces(random)).flatMap((event) => decoder.push(event));
      const folded = fold([...events, ...decoder.end()]);
      expect(folded.failure).toBeUndefined();
      expect(withoutRaw(folded.reply)).toEqual(withoutRaw(reply));
      return true;
    });
  });

  test(`${name}: parts are numbered without gaps, end once, and get nothing after their end`, () => {
    hold(0.9, (random) => {
      const reply = side.sayable(randomReply(random));
      const decoder = outbound.decodeStream();
      const events = side.writeStream(reply, randomPieces(random)).flatMap((event) => decoder.push(event));
      const states = new Map<string, 'open' | 'ended'>();
      for (const event of [...events, ...decoder.end()]) {
        if (!('index' in event)) continue;
        const key = `${event.choice}/${event.index}`;
        expect(states.get(key)).toBe(event.type === 'part-start' ? undefined : 'open');
        if (event.type === 'part-start' && event.index > 0)
          expect(states.has(`${event.choice}/${event.index - 1}`)).toBe(true);
        states.set(key, event.type === 'part-end' ? 'ended' : 'open');
      }
      expect(new Set(states.values()).has('open')).toBe(false);
      return true;
    });
  });
}
