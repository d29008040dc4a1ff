import { expect, test } from 'bun:test';
import type { ServerSentEvent } from '../dialects/sse.ts';
import type { Reading } from './reading.ts';
import { WindowedEvents } from './stream.ts';

/** A generator of the same numbers for the same seed. */
function numbers(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const event = (index: number, content: string): ServerSentEvent => ({
  data: JSON.stringify({ choices: [{ index, delta: { content } }] }),
});

const saidBy = (index: number, stream: string): string =>
  [...stream.matchAll(/^data: (.*)$/gm)]
    .flatMap(([, data]) => JSON.parse(data!).choices)
    .filter((choice) => choice.index === index)
    .map((choice) => choice.delta.content)
    .join('');

const RULE = /secret-\d{1,6}/g;
const SPAN = 'secret-'.length + 6;

const redact = async (reading: Reading): Promise<Reading> => {
  const texts = reading.texts.flatMap(({ text }, part) => {
    const changed = text.replace(RULE, '#');
    return changed === text ? [] : [{ part, text: changed }];
  });
  return texts.length > 0 ? reading.changed({ texts })! : reading;
};

/** Two texts in pieces of all sizes, as they come from a provider. */
function cutUp(texts: readonly string[], random: (below: number) => number): ServerSentEvent[] {
  const left = [...texts];
  const events: ServerSentEvent[] = [];
  while (left.some((text) => text !== '')) {
    const index = random(left.length);
    const length = random(9);
    events.push(event(index, left[index]!.slice(0, length)));
    left[index] = left[index]!.slice(length);
  }
  return events;
}

const textFrom = (random: (below: number) => number): string => {
  const pieces = ['harmless ', 'words and ', 'secret-', 'secret-123456', '7', ' ', 'more. ', 'secret-1'];
  return Array.from({ length: 40 }, () => pieces[random(pieces.length)]!).join('');
};

test('whatever the cuts, what flows is what would have come out of the whole, and nothing leaves before it was seen', async () => {
  for (let seed = 1; seed <= 60; seed++) {
    const random = numbers(seed);
    const texts = [textFrom(random), textFrom(random)];
    const windows = new WindowedEvents({ side: { on: 'output', endpoint: 'chatComplete' }, span: SPAN, look: redact });
    let out = '';
    for (const each of cutUp(texts, random)) {
      const released = await windows.push([each]);
      if (released === '') continue;
      out += released;
      expect([saidBy(0, out), saidBy(1, out)].join().match(RULE)).toBeNull();
    }
    out += await windows.end();
    expect([seed, saidBy(0, out), saidBy(1, out)]).toEqual([seed, ...texts.map((text) => text.replace(RULE, '#'))]);
  }
});

test('no part of what is denied leaves before the denial', async () => {
  for (let seed = 1; seed <= 200; seed++) {
    const random = numbers(seed);
    const before = 'nothing of note here, '.repeat(random(12));
    const windows = new WindowedEvents({
      side: { on: 'output', endpoint: 'chatComplete' },
      span: 'forbidden'.length,
      look: async (reading) => {
        if (reading.texts.some(({ text }) => text.includes('forbidden'))) throw new Error('denied');
        return reading;
      },
    });
    let out = '';
    const flowing = (async () => {
      for (const each of cutUp([`${before}forbidden and the rest`], random)) out += await windows.push([each]);
      out += await windows.end();
    })();
    await expect(flowing).rejects.toThrow('denied');
    expect(before.startsWith(saidBy(0, out))).toBe(true);
  }
});

test('a text that is over does not keep the events behind it waiting', async () => {
  const windows = new WindowedEvents({
    side: { on: 'output', endpoint: 'messages' },
    span: 50,
    look: async (reading) => reading,
  });
  const sent = async (type: string, rest: object) =>
    windows.push([{ event: type, data: JSON.stringify({ type, ...rest }) }]);

  const held = await sent('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'short' } });
  const released = await sent('content_block_stop', { index: 0 });

  expect(held).toBe('');
  expect(released).toContain('short');
  expect(released).toContain('content_block_stop');
});
