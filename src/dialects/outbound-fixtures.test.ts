import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { framings } from '../relay/framing.ts';
import { formatAwsMessage } from './aws-event-stream.ts';
import { fold } from './fold.ts';
import { dialects } from './index.ts';
import type { Failure, JsonObject, ModelReply, ModelRequest, ReplyEvent } from './ir.ts';
import { parsed } from './json.ts';
import { JsonArrayParser } from './json-array.ts';
import { needsFetch } from './remote-media.ts';
import { formatSse, type ServerSentEvent, SseParser } from './sse.ts';

/**
 * A case is a file `fixtures/<dialect>/<case>.json`: what goes over the wire, written after the vendor's reference, and
 * what it means. These dialects are only spoken to providers, so a request is written and never read, a reply read and
 * never written.
 */
interface Case {
  readonly about: string;
  readonly request?: JsonObject;
  /** Paths of what the request could not say, or says in another way, and addresses that have to be fetched first. */
  readonly dropped?: readonly string[];
  readonly changed?: readonly string[];
  readonly needsFetch?: readonly string[];
  readonly reply?: JsonObject;
  readonly stream?: readonly { readonly event?: string; readonly data: unknown }[];
  readonly error?: { readonly status: number; readonly body: unknown };
  readonly means: { readonly request?: ModelRequest; readonly reply?: ModelReply; readonly failure?: Failure };
}

type Stream = NonNullable<Case['stream']>;

interface Framed {
  readonly bytes: Uint8Array;
  parser(): { push(piece: Uint8Array): readonly ServerSentEvent[]; end(): readonly ServerSentEvent[] };
}

const encode = (text: string) => new TextEncoder().encode(text);
const dataOf = (data: unknown) => (typeof data === 'string' ? data : JSON.stringify(data));

function sse(stream: Stream, lineEnd = '\n'): Framed {
  const text = stream.map(({ event, data }) => formatSse({ event, data: dataOf(data) })).join('');
  return { bytes: encode(text.replaceAll('\n', lineEnd)), parser: () => new SseParser() };
}

/** With the white space that Google puts between the elements. */
const jsonArray = (stream: Stream): Framed => ({
  bytes: encode(`[${stream.map(({ data }) => JSON.stringify(data, null, 2)).join('\n,\r\n')}\n]`),
  parser: () => new JsonArrayParser(),
});

function aws(stream: Stream): Framed {
  const frames = stream.map(({ event = '', data }) => {
    const isException = event.startsWith('exception/');
    const headers = {
      ':message-type': isException ? 'exception' : 'event',
      [isException ? ':exception-type' : ':event-type']: event.replace('exception/', ''),
    };
    return formatAwsMessage({ ...headers, ':content-type': 'application/json' }, encode(dataOf(data)));
  });
  return { bytes: Buffer.concat(frames), parser: () => framings.aws() };
}

const FRAMED = {
  gemini: (stream: Stream) => [sse(stream), sse(stream, '\r\n'), jsonArray(stream)],
  converse: (stream: Stream) => [aws(stream)],
  cohere: (stream: Stream) => [sse(stream), sse(stream, '\r'), sse(stream, '\r\n')],
};

/** Arguments are JSON in a text, which one and the same provider spaces differently in streams. */
const unspaced = (reply: ModelReply): ModelReply =>
  JSON.parse(JSON.stringify(reply), (name, value) =>
    name === 'argsText' ? JSON.stringify(parsed(value) ?? value) : value,
  );

const withoutRaw = ({ raw, ...failure }: Failure): Omit<Failure, 'raw'> => failure;
const paths = (losses: readonly { readonly path: string }[]) => losses.map(({ path }) => path);

for (const name of ['gemini', 'converse', 'cohere'] as const) {
  const outbound = dialects[name].outbound!;
  const folder = join(import.meta.dir, 'fixtures', name);

  const decode = ({ parser: open }: Framed, pieces: readonly Uint8Array[]): ReplyEvent[] => {
    const parser = open();
    const decoder = outbound.decodeStream();
    const events = pieces.flatMap((piece) => parser.push(piece).flatMap((event) => decoder.push(event)));
    return [...events, ...parser.end().flatMap((event) => decoder.push(event)), ...decoder.end()];
  };

  for (const file of readdirSync(folder)) {
    const label = `${name}/${file.replace('.json', '')}`;
    const { about, request, reply, stream, error, means, ...losses } = JSON.parse(
      readFileSync(join(folder, file), 'utf8'),
    ) as Case;

    if (request)
      test(`${label}: the request is written as it should be. ${about}`, () => {
        const encoded = outbound.encodeRequest(means.request!);
        expect(encoded.body).toEqual(request);
        expect(paths(encoded.dropped)).toEqual([...(losses.dropped ?? [])]);
        expect(paths(encoded.changed)).toEqual([...(losses.changed ?? [])]);
        expect(needsFetch(encoded).map(({ url }) => url)).toEqual([...(losses.needsFetch ?? [])]);
      });

    if (reply)
      test(`${label}: the reply means what it should. ${about}`, () => {
        expect(outbound.decodeReply(reply)).toEqual(means.reply!);
      });

    if (stream)
      test(`${label}: the stream folds to the reply, wherever it is cut. ${about}`, () => {
        for (const framed of FRAMED[name](stream)) {
          const { bytes } = framed;
          const events = decode(framed, [bytes]);
          const { reply: whole, failure } = fold(events);
          expect(unspaced(whole)).toEqual(unspaced(means.reply!));
          expect(failure && withoutRaw(failure)).toEqual(means.failure);
          for (let cut = 0; cut <= bytes.length; cut++)
            expect(decode(framed, [bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual(events);
          const single = Array.from(bytes, (byte) => Uint8Array.of(byte));
          expect(decode(framed, single)).toEqual(events);
        }
      });

    if (error)
      test(`${label}: the error is understood, and its words are kept. ${about}`, () => {
        const failure = outbound.decodeError(error.status, error.body);
        expect(withoutRaw(failure)).toEqual(means.failure!);
        expect(failure.raw).toEqual(error.body);
      });
  }
}

test('every dialect has a case for everything that matters', () => {
  const wanted = [
    'cached-usage',
    'error-400',
    'error-429',
    'error-500',
    'error-page',
    'image',
    'json-schema',
    'length-stop',
    'multi-turn',
    'reasoning',
    'refusal',
    'stream-cut',
    'stream-error',
    'system',
    'text',
    'tool-call',
    'tool-calls',
    'tool-results',
  ];
  for (const name of ['gemini', 'converse', 'cohere']) {
    const cases = readdirSync(join(import.meta.dir, 'fixtures', name)).map((file) => file.replace('.json', ''));
    expect(wanted.filter((each) => !cases.includes(each))).toEqual([]);
  }
});
