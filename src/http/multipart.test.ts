import { describe, expect, test } from 'bun:test';
import { GatewayError } from '../core/errors.ts';
import { readParts } from './multipart.ts';

const CONTENT_TYPE = 'multipart/form-data; boundary=xYz';

/** A request whose body arrives in pieces of these sizes, over and over. */
function requestOf(body: string | Uint8Array, { sizes = [1 << 20], type = CONTENT_TYPE } = {}): Request {
  const bytes = Buffer.from(body as string, 'latin1');
  let at = 0;
  let turn = 0;
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      const size = sizes[turn++ % sizes.length]!;
      controller.enqueue(new Uint8Array(bytes.subarray(at, at + size)));
      at += size;
    },
  });
  return new Request('http://localhost', { method: 'POST', headers: { 'content-type': type }, body: stream });
}

async function partsOf(request: Request) {
  const parts: { name: string; filename: string | null; type: string | null; content: Buffer }[] = [];
  for await (const { content, ...head } of readParts(request)) {
    parts.push({ ...head, content: Buffer.concat(await Array.fromAsync(content)) });
  }
  return parts;
}

const failureOf = (request: Request) =>
  partsOf(request).then(
    () => null,
    (error: unknown) => (error instanceof GatewayError ? [error.code, error.message] : error),
  );

const part = (head: string, content: string) => `--xYz\r\n${head}\r\n\r\n${content}\r\n`;
const field = (name: string, content: string) => part(`Content-Disposition: form-data; name="${name}"`, content);
const END = '--xYz--\r\n';

const tricky = 'a\r\n--xY\r\n--xYx\r\r\n-\r\n\r\n--\n--xYz\r\n-';
const form =
  field('first', '') +
  field('second', tricky) +
  part('content-disposition: FORM-DATA; name=file; filename="a b.bin"\r\nContent-Type: image/png', '\0\xff\r\n') +
  END;

test('a form cut at every byte, and in pieces of any size, is the same form', async () => {
  const expected = await partsOf(requestOf(form));
  expect(
    expected.map(({ name, filename, type, content }) => [name, filename, type, content.toString('latin1')]),
  ).toEqual([
    ['first', null, null, ''],
    ['second', null, null, tricky],
    ['file', 'a b.bin', 'image/png', '\0\xff\r\n'],
  ]);

  for (let cut = 1; cut < form.length; cut++)
    expect(await partsOf(requestOf(form, { sizes: [cut, form.length] }))).toEqual(expected);
  for (const sizes of [[1], [2], [3], [7], [1, 50], [64, 1]])
    expect(await partsOf(requestOf(form, { sizes }))).toEqual(expected);
});

test('what fetch makes of a FormData is read as it was, also names in other scripts and with quotes', async () => {
  const data = new FormData();
  const names = ['räsumé 1.bin', 'quo"te.txt', '日本.jsonl', "it's 100%.txt"];
  for (const name of names) data.append('file', new File([`of ${name}`], name));
  data.append('purpose', 'bätch');
  const request = new Request('http://localhost', { method: 'POST', body: data });

  const parts = await partsOf(request);

  expect(parts.map(({ filename }) => filename)).toEqual([...names, null]);
  expect(parts.map(({ content }) => content.toString())).toEqual([...names.map((name) => `of ${name}`), 'bätch']);
});

describe('a file name', () => {
  for (const [written, name] of [
    ['filename="plain.txt"', 'plain.txt'],
    ['filename=token.txt', 'token.txt'],
    ['filename=""', ''],
    ['filename="a;b=c.txt"', 'a;b=c.txt'],
    ['filename="a\\"b\\\\c.txt"', 'a"b\\c.txt'],
    ['filename="C:\\dir\\x.txt"', 'C:\\dir\\x.txt'],
    ['filename="a%22b%0D%0A%20.txt"', 'a"b\r\n%20.txt'],
    ["filename=x; filename*=UTF-8''na%C3%AFve.txt", 'naïve.txt'],
  ] as const) {
    test(`${written}`, async () => {
      const [only] = await partsOf(
        requestOf(part(`Content-Disposition: form-data; name="file"; ${written}`, '') + END),
      );
      expect(only?.filename).toBe(name);
    });
  }
});

test('text around the form, padding behind a boundary and a quoted boundary are no trouble', async () => {
  const body = `preamble\r\n--x Y:z \t\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x Y:z--  \r\nepilogue`;
  const parts = await partsOf(requestOf(body, { type: 'multipart/form-data; charset=utf-8; boundary="x Y:z"' }));
  expect(parts.map(({ name, content }) => [name, content.toString()])).toEqual([['a', '1']]);
});

test('a part that nobody reads, or reads in part, is passed over', async () => {
  const body = field('skipped', 'x'.repeat(5_000)) + field('begun', 'y'.repeat(5_000)) + field('last', 'z') + END;
  const seen: string[] = [];
  for await (const { name, content } of readParts(requestOf(body, { sizes: [100] }))) {
    if (name === 'begun')
      for await (const piece of content) {
        seen.push(`${name} ${piece.byteLength > 0}`);
        break;
      }
    else seen.push(name);
  }
  expect(seen).toEqual(['skipped', 'begun true', 'last']);
});

test('a form without parts has none', async () => {
  expect(await partsOf(requestOf('--xYz--'))).toEqual([]);
});

describe('refused, with the reason:', () => {
  const named = 'Content-Disposition: form-data; name="a"';
  const cases: [string, Request, string, string][] = [
    [
      'another type',
      requestOf('{}', { type: 'application/json' }),
      'unsupported_media_type',
      'multipart/form-data, not',
    ],
    ['no boundary', requestOf(form, { type: 'multipart/form-data' }), 'invalid_multipart', 'no usable boundary'],
    [
      'another boundary',
      requestOf(form, { type: 'multipart/form-data; boundary=q' }),
      'invalid_multipart',
      'ends before',
    ],
    ['nothing at all', requestOf(''), 'invalid_multipart', 'ends before its closing boundary'],
    ['an end in the middle', requestOf(form.slice(0, -10)), 'invalid_multipart', 'ends before its closing boundary'],
    [
      'an end in the headers',
      requestOf('--xYz\r\nContent-Dis'),
      'invalid_multipart',
      'ends before its closing boundary',
    ],
    ['a part without headers', requestOf(`--xYz\r\n\r\nx\r\n${END}`), 'invalid_multipart', 'lacks the header'],
    [
      'a part without a name',
      requestOf(part('Content-Disposition: form-data', '') + END),
      'invalid_multipart',
      'no name',
    ],
    [
      'an encoded part',
      requestOf(part(`${named}\r\nContent-Transfer-Encoding: base64`, '') + END),
      'invalid_multipart',
      'base64',
    ],
    ['a header without a colon', requestOf(part(`${named}\r\nnonsense`, '') + END), 'invalid_multipart', 'no name'],
    ['headers that are not UTF-8', requestOf(part(`${named}\r\nX: \xff`, '') + END), 'invalid_multipart', 'not UTF-8'],
    ['headers without end', requestOf(`--xYz\r\n${'x'.repeat(20_000)}`), 'invalid_multipart', 'more than 16384 bytes'],
    [
      'a boundary with more on its line',
      requestOf(`--xYzz\r\n${named}\r\n\r\n\r\n${END}`),
      'invalid_multipart',
      'not alone',
    ],
    ['too many parts', requestOf(field('a', '').repeat(101) + END), 'invalid_multipart', 'more than 100 parts'],
    ['a long preamble', requestOf('x'.repeat(70_000) + form), 'invalid_multipart', 'before its first boundary'],
    [
      'a long epilogue',
      requestOf(form + 'x'.repeat(70_000), { sizes: [1_000] }),
      'invalid_multipart',
      'behind its last',
    ],
  ];
  for (const [name, request, code, text] of cases) {
    test(name, async () => {
      expect(await failureOf(request)).toEqual([code, expect.stringContaining(text)]);
    });
  }
});
