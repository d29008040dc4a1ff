import { expect, test } from 'bun:test';
import { FramingError } from './framing-error.ts';
import { formatSse, type ServerSentEvent, SseParser } from './sse.ts';

const bytesOf = (text: string) => new TextEncoder().encode(text);

function parse(...pieces: Uint8Array[]): ServerSentEvent[] {
  const parser = new SseParser();
  return [...pieces.flatMap((piece) => parser.push(piece)), ...parser.end()];
}

const CASES: readonly [name: string, text: string, events: ServerSentEvent[]][] = [
  ['one event', 'data: a\n\n', [{ data: 'a' }]],
  ['no space after the colon', 'data:a\n\n', [{ data: 'a' }]],
  ['only the first space is framing', 'data:  a\n\n', [{ data: ' a' }]],
  ['a name and an id', 'event: ping\nid: 7\ndata: {}\n\n', [{ event: 'ping', id: '7', data: '{}' }]],
  ['several data lines', 'data: a\ndata:\ndata: b\n\n', [{ data: 'a\n\nb' }]],
  ['comments and unknown fields', ': hello\nretry: 5\nfoo: x\ndata: a\n\n: bye\n\n', [{ data: 'a' }]],
  ['fields named nearly as known ones', 'dataset: x\neventful: y\nid2: z\ndat: q\ndata: a\n\n', [{ data: 'a' }]],
  ['a field without a colon', 'data\n\n', [{ data: '' }]],
  ['a name without data is no event', 'event: ping\n\ndata: a\n\n', [{ data: 'a' }]],
  ['a byte order mark', '\ufeffdata: a\n\n', [{ data: 'a' }]],
  ['a byte order mark inside is kept', 'data: a\n\ndata: \ufeffb\n\n', [{ data: 'a' }, { data: '\ufeffb' }]],
  ['no blank line at the end', 'data: a\n\ndata: b\n', [{ data: 'a' }, { data: 'b' }]],
  ['no line end at the end', 'data: a\n\ndata: b', [{ data: 'a' }, { data: 'b' }]],
  ['letters of every length', 'data: ñ 言葉 🌊\n\n', [{ data: 'ñ 言葉 🌊' }]],
  ['nothing', '', []],
];
const LINE_ENDS = { LF: '\n', CRLF: '\r\n', CR: '\r' };

for (const [name, text, events] of CASES) {
  for (const [ends, lineEnd] of Object.entries(LINE_ENDS)) {
    test(`${name}, lines ended by ${ends}, cut at every byte`, () => {
      const bytes = bytesOf(text.replaceAll('\n', lineEnd));
      for (let cut = 0; cut <= bytes.length; cut++)
        expect(parse(bytes.subarray(0, cut), bytes.subarray(cut))).toEqual(events);
      expect(parse(...Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(events);
    });
  }
}

test('line ends may be mixed', () => {
  expect(parse(bytesOf('data: a\r\n\rdata: b\n\r\ndata: c\r\rdata: d\n\n'))).toEqual([
    { data: 'a' },
    { data: 'b' },
    { data: 'c' },
    { data: 'd' },
  ]);
});

test('an event comes as soon as its blank line is there', () => {
  const parser = new SseParser();
  expect(parser.push(bytesOf('data: a\n'))).toEqual([]);
  expect(parser.push(bytesOf('\nda'))).toEqual([{ data: 'a' }]);
  expect(parser.push(bytesOf('ta: b\r\n\r'))).toEqual([{ data: 'b' }]);
});

test('a buffer that is used again does not change what was read from it', () => {
  const parser = new SseParser();
  const buffer = bytesOf('data: abc');
  parser.push(buffer);
  buffer.fill(0x20);
  expect(parser.push(bytesOf('\n\n'))).toEqual([{ data: 'abc' }]);
});

test('an event that is too large is refused, in one line or in many, while small ones go on for ever', () => {
  const small = new SseParser({ mostBytes: 100 });
  for (let count = 0; count < 100; count++) expect(small.push(bytesOf('data: hello\n: comment\n\n'))).toHaveLength(1);
  expect(() => small.push(bytesOf(`data: ${'x'.repeat(200)}`))).toThrow(FramingError);
  const lines = new SseParser({ mostBytes: 100 });
  expect(() => lines.push(bytesOf('data: hello\n'.repeat(20)))).toThrow(FramingError);
  const drops = new SseParser({ mostBytes: 100 });
  expect(() => {
    for (let count = 0; count < 200; count++) drops.push(bytesOf('x'));
  }).toThrow('larger than 100 bytes');
});

test('what is written is read again', () => {
  for (const event of [{ data: 'a' }, { event: 'x', id: '1', data: 'a\nb' }, { data: '' }, { data: '{"a":"🌊"}' }])
    expect(parse(bytesOf(formatSse(event)))).toEqual([event]);
  expect(formatSse({ data: 'a\r\nb\rc' })).toBe('data: a\ndata: b\ndata: c\n\n');
});
