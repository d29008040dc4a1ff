import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { createDatabase } from '../../../test/postgres.ts';
import {
  ask,
  type BodiesForTest,
  packed,
  removeTemporaryFolders,
  row,
  temporaryFolder,
} from '../../../test/telemetry/log-rows.ts';
import { termsIn } from '../filter/language.ts';
import { type LogTarget, openLogStore } from '../log-store.ts';
import { searchedIn } from './said.ts';
import { MOST_WORDS, tsvectorOf, wordsIn } from './words.ts';

afterAll(removeTemporaryFolders);

const JSON_TYPE = { 'content-type': 'application/json' };

const wordsOf = async (bodies: BodiesForTest): Promise<string | undefined> => {
  const [found] = await searchedIn({ rows: [row()], bodies: [[packed({ isSearched: true, ...bodies })]] });
  return found?.words.join(' ');
};

test('words are of letters and digits, small, and not longer than a word is', () => {
  expect(wordsIn(`It's A.B@c-d.com 3,5 „Übergrößen“ ﬁn_x ${'x'.repeat(65)} ไทย 東京tower हिन्दी \ud800`)).toEqual([
    'it',
    's',
    'a',
    'b',
    'c',
    'd',
    'com',
    '3',
    '5',
    'übergrößen',
    'fin',
    'x',
    'ไ',
    'ท',
    'ย',
    '東',
    '京',
    'tower',
    'हिन्दी',
  ]);
  expect(wordsIn('a '.repeat(MOST_WORDS + 5))).toHaveLength(MOST_WORDS);
  expect(tsvectorOf(['a', 'b', 'a'])).toBe("'a':1,3 'b':2");
});

test('what is said in bodies is found, also in one that is cut or packed; names, kinds and data are not', async () => {
  const request =
    '{"model":"gpt","messages":[{"role":"user","content":"caf\\u00e9\\n\\"now\\""}],"input":["one","two"]';
  expect(await wordsOf({ request })).toBe('café now one two');
  expect(await wordsOf({ request: '{"content":"begun\\nand \\u00' })).toBe('begun and');
  const data = Buffer.alloc(400, 'ab+/').toString();
  expect(await wordsOf({ request: JSON.stringify({ image_url: { url: data }, b64_json: 'x', text: 'seen' }) })).toBe(
    'seen',
  );
  const packedAnswer = { ...JSON_TYPE, 'content-encoding': 'gzip' };
  const response = gzipSync(JSON.stringify({ output_text: 'whole again' }));
  expect(await wordsOf({ response, responseHeaders: packedAnswer })).toBe('whole again');
  expect(await wordsOf({ response: 'not gzip', responseHeaders: packedAnswer })).toBeUndefined();
  expect(await wordsOf({ response: 'some lines', responseHeaders: { 'content-type': 'text/plain' } })).toBe(
    'some lines',
  );
  expect(await wordsOf({ response: '\xff\xfe ab', responseHeaders: { 'content-type': 'audio/mpeg' } })).toBeUndefined();
  expect(await wordsOf({ isSearched: false, request: '{"a":"b"}' })).toBeUndefined();
});

test('pieces of a stream are put together, whichever API it is', async () => {
  const events = [
    'event: x\r\ndata: {"type":"response.output_text.delta","delta":"ref"}\r\n',
    'data: {"type":"response.output_text.delta","delta":"und"}\n',
    'data: {"delta":{"type":"text_delta","text":"mon"}}\n',
    'data: {"candidates":[{"content":{"parts":[{"text":"ey"}]}}]}\n',
    'data: [DONE]\n',
  ];
  const responseHeaders = { 'content-type': 'text/event-stream; charset=utf-8' };
  expect(await wordsOf({ response: events.join('\n'), responseHeaders })).toBe('refund money');
});

test('a long body takes a bounded time and place', async () => {
  const long = JSON.stringify({ content: `${'word '.repeat(100_000)}last` });
  expect((await wordsOf({ request: long, response: long, responseHeaders: JSON_TYPE }))!.length).toBeLessThan(140_000);
  for (const hostile of ['"'.repeat(300_000), '\\"'.repeat(150_000), `{"a":"${'\\'.repeat(300_001)}`]) {
    const began = performance.now();
    await wordsOf({ request: hostile });
    expect(performance.now() - began).toBeLessThan(10_000);
  }
});

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`the index on ${engine}`, () => {
    const newTarget = async (): Promise<LogTarget> =>
      engine === 'sqlite'
        ? { engine, file: join(temporaryFolder(), 'logs.db') }
        : { engine, url: await createDatabase() };

    test('goes with its entries, takes a batch that comes twice once, and holds whatever is said', async () => {
      const store = await openLogStore(await newTarget(), 'writer', { searches: true });
      const found = async (filter: string) =>
        (await store.list(ask({ terms: termsIn(filter, { searches: true }) }))).data.map(({ id }) => id);
      const odd = "O'Neil \\ 'quoted' :1,2 & | ! <-> \u0000 AND OR NOT NEAR(a b) words:x";
      const rows = [row({ id: 'old', created_at: 1_000 }), row({ id: 'new' }), row({ id: 'of-bob', user_id: 'bob' })];
      const bodies = ['refund one', `refund two ${odd}`, 'refund three'].map((content) => [
        packed({ isSearched: true, request: JSON.stringify({ content }) }),
      ]);
      await store.insert({ rows, bodies });
      await store.insert({ rows, bodies });

      expect((await found('refund')).sort()).toEqual(['new', 'of-bob', 'old']);
      for (const filter of ["\"O'Neil 'quoted'\"", 'NEAR', 'neil', '"AND OR NOT"', '"words:x"', "o'ne*"])
        expect([filter, await found(filter)]).toEqual([filter, ['new']]);
      expect(await found('-refund')).toEqual([]);

      expect(await store.prune(2_000, 100)).toBe(1);
      expect((await found('refund')).sort()).toEqual(['new', 'of-bob']);
      expect(await store.erase({ organisationId: 'org', userId: 'bob', names: ['bob'] }, 100)).toBe(1);
      expect(await found('three')).toEqual([]);
      // The same id again is a new entry, and its words are its own.
      await store.insert({
        rows: [row({ id: 'of-bob' })],
        bodies: [[packed({ isSearched: true, request: '{"a":"four"}' })]],
      });
      expect([await found('three'), await found('four')]).toEqual([[], ['of-bob']]);
      await store.close();
    });
  });
}
