import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bare, disorder } from '../../test/dialects/comparing.ts';
import type { Dialect, ReplyContext } from './dialect.ts';
import { fold } from './fold.ts';
import { dialects } from './index.ts';
import type { DialectName, Failure, JsonObject, ModelReply, ModelRequest, ReplyEvent } from './ir.ts';
import { parsed } from './json.ts';
import { formatSse, SseParser } from './sse.ts';

/**
 * A case is a file `fixtures/<dialect>/<case>.json`: what goes over the wire, written after the vendor's reference, and
 * what it means. A new case is a new file.
 */
interface Case {
  readonly about: string;
  readonly request?: JsonObject;
  readonly reply?: JsonObject;
  readonly stream?: readonly { readonly event?: string; readonly data: unknown }[];
  readonly error?: { readonly status: number; readonly body: unknown };
  readonly means: { readonly request?: ModelRequest; readonly reply?: ModelReply; readonly failure?: Failure };
}

const folder = join(import.meta.dir, 'fixtures');
const context: ReplyContext = { request: { model: 'asked-for', includeUsage: true }, id: 'made-here', now: 0 };
const LINE_ENDS = ['\n', '\r\n', '\r'];

/** Arguments are JSON in a text, which one and the same provider spaces differently in streams. */
function unspaced(reply: ModelReply): ModelReply {
  return JSON.parse(JSON.stringify(reply), (name, value) =>
    name === 'argsText' ? JSON.stringify(parsed(value) ?? value) : value,
  );
}

const textOf = (stream: NonNullable<Case['stream']>) =>
  stream
    .map(({ event, data }) => formatSse({ event, data: typeof data === 'string' ? data : JSON.stringify(data) }))
    .join('');

function decode(dialect: Dialect, pieces: readonly Uint8Array[]): ReplyEvent[] {
  const parser = new SseParser();
  const decoder = dialect.outbound!.decodeStream();
  const events = pieces.flatMap((piece) => parser.push(piece).flatMap((event) => decoder.push(event)));
  return [...events, ...parser.end().flatMap((event) => decoder.push(event)), ...decoder.end()];
}

function withoutRaw(failure: Failure | undefined): Omit<Failure, 'raw'> | undefined {
  if (!failure) return undefined;
  const { raw, ...rest } = failure;
  return rest;
}

/** Others test the framings and cases of their own. */
const names = readdirSync(folder).filter((name) =>
  ['anthropic', 'openai-chat', 'responses'].includes(name),
) as DialectName[];

for (const name of names) {
  const dialect = dialects[name];
  for (const file of readdirSync(join(folder, name))) {
    const { about, request, reply, stream, error, means } = JSON.parse(
      readFileSync(join(folder, name, file), 'utf8'),
    ) as Case;
    const label = `${name}/${file.replace('.json', '')}`;

    if (request)
      test(`${label}: the request means what it should, and is written again as it was. ${about}`, () => {
        expect(bare(dialect.inbound!.decodeRequest(request))).toEqual(means.request!);
        const { body, dropped, changed } = dialect.outbound!.encodeRequest(means.request!);
        expect({ body, dropped, changed }).toEqual({ body: request, dropped: [], changed: [] });
      });

    if (reply)
      test(`${label}: the reply means what it should, and is written again as it was. ${about}`, () => {
        expect(dialect.outbound!.decodeReply(reply)).toEqual(means.reply!);
        const again = dialect.inbound!.encodeReply(means.reply!, context).body;
        expect(unspaced(dialect.outbound!.decodeReply(again))).toEqual(
          unspaced(withFinishOf(again, dialect, means.reply!)),
        );
      });

    if (stream)
      test(`${label}: the stream folds to the reply, wherever it is cut. ${about}`, () => {
        const bytes = new TextEncoder().encode(textOf(stream));
        const events = decode(dialect, [bytes]);
        expect(disorder(events)).toEqual([]);
        const folded = fold(events);
        expect(unspaced(folded.reply)).toEqual(unspaced(means.reply!));
        expect(withoutRaw(folded.failure)).toEqual(means.failure);
        for (let cut = 0; cut <= bytes.length; cut++)
          expect(decode(dialect, [bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual(events);
        for (const lineEnd of LINE_ENDS) {
          const other = new TextEncoder().encode(textOf(stream).replaceAll('\n', lineEnd));
          expect(
            decode(
              dialect,
              Array.from(other, (byte) => Uint8Array.of(byte)),
            ),
          ).toEqual(events);
        }
      });

    if (error)
      test(`${label}: the error is understood, and its words are kept. ${about}`, () => {
        const failure = dialect.outbound!.decodeError(error.status, error.body);
        expect(withoutRaw(failure)).toEqual(means.failure);
        expect(failure.raw).toEqual(error.body);
        const { status, body } = dialect.inbound!.encodeError(failure);
        expect(status).toBe(error.status);
        expect(JSON.stringify(body)).toContain(JSON.stringify(failure.message));
      });
  }
}

/** The vendor's word for the finish is the one we wrote, which for compatible providers may be another. */
function withFinishOf(body: object, dialect: Dialect, reply: ModelReply): ModelReply {
  const written = dialect.outbound!.decodeReply(body);
  const choices = reply.choices.map((choice, index) => {
    const raw = written.choices[index]?.finish.raw;
    return { ...choice, finish: { ...choice.finish, raw } };
  });
  return { ...reply, choices };
}
