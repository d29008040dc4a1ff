import { AwsEventStreamParser } from '../dialects/aws-event-stream.ts';
import { FramingError } from '../dialects/framing-error.ts';
import { parsed } from '../dialects/json.ts';
import { type ServerSentEvent, SseParser } from '../dialects/sse.ts';
import type { TextPart } from './check.ts';
import { isCode } from './codes.ts';
import type { Placed, Stretch } from './splice.ts';
import type { Side } from './text-context.ts';
import { type FoundText, findTexts, textsWithin, Unreadable } from './texts.ts';

/** One event of a stream in the text that is made of all of them. */
export interface Unit extends Stretch {
  /** Undefined where the event is no JSON. */
  readonly json: unknown;
}

/** The events of a stream, written one after the other in one way. */
export interface Events {
  readonly source: string;
  readonly units: readonly Unit[];
}

export interface Piece extends Stretch {
  /** Whether it is a string of JSON, or stands as it is. */
  readonly isJson: boolean;
}

/** A text of which every event has a piece; some events repeat it whole. It stands where its first piece does. */
export interface JoinedText extends TextPart, Placed {
  readonly isRevealing?: boolean;
  readonly pieces: readonly Piece[];
  readonly repeats: Piece[];
}

export interface ParsedEvents extends Events {
  readonly events: readonly ServerSentEvent[];
  /** Nothing stands in the stream but what the events have. */
  readonly isPlain: boolean;
}

export function eventsIn(bytes: Uint8Array): ParsedEvents {
  const parser = new SseParser({ mostBytes: Math.max(1, bytes.byteLength) });
  const events = [...parser.push(bytes), ...parser.end()];
  return { ...written(events), events, isPlain: isPlain(bytes) };
}

const isPlain = (bytes: Uint8Array): boolean => {
  for (const line of new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes).split(/\r\n|\r|\n/))
    if (line !== '' && !PLAIN_LINE.test(line)) return false;
  return true;
};
const PLAIN_LINE = /^(?:data(?::|$)|(?:event|id): ?[\w.:/+*-]{0,128}$)/;

/** Line ends in JSON stand between its values, where they mean nothing. */
const onOneLine = (data: string) => data.replace(/[\r\n]+/g, ' ');

export function written(events: readonly ServerSentEvent[]): Events {
  let source = '';
  const units: Unit[] = [];
  for (const { event, data, id } of events) {
    // A name or an id that is not a plain code could carry text past the checks, so it is left out.
    if (event && isCode(event)) source += `event: ${event}\n`;
    if (id !== undefined && isCode(id)) source += `id: ${id}\n`;
    source += 'data: ';
    const start = source.length;
    source += onOneLine(data);
    units.push({ start, end: source.length, json: parsed(data) });
    source += '\n\n';
  }
  return { source, units };
}

/** Messages of AWS as events; they carry checksums, so nothing can be replaced in them. */
export function awsEventsIn(bytes: Uint8Array): Events {
  try {
    const parser = new AwsEventStreamParser();
    const decoder = new TextDecoder();
    const messages = [...parser.push(bytes), ...parser.end()];
    return written(messages.map(({ payload }) => ({ data: decoder.decode(payload) })));
  } catch (error) {
    if (error instanceof FramingError) throw new Unreadable(error.message);
    throw error;
  }
}

/** The lines of a text, when each is JSON. */
export function linesIn(source: string): Events | null {
  const units: Unit[] = [];
  let start = 0;
  for (const line of source.split('\n')) {
    const json = line.trim() === '' ? undefined : parsed(line);
    if (json === undefined && line.trim() !== '') return null;
    if (json !== undefined) units.push({ start, end: start + line.length, json });
    start += line.length + 1;
  }
  return units.length > 0 ? { source, units } : null;
}

export interface Joined {
  readonly texts: readonly JoinedText[];
  readonly revealing: readonly Stretch[];
  readonly hasUnread: boolean;
}

/** The texts of a stream as they are once all its pieces are put together. */
export function joinTexts({ source, units }: Events, side: Side): Joined {
  const channels = new Map<string, { first: FoundText; text: string; pieces: Piece[] }>();
  const revealing: Stretch[] = [];
  let hasUnread = false;
  for (const unit of units) {
    const found = textsOf(source, unit, side);
    revealing.push(...found.revealing);
    hasUnread ||= found.hasUnread;
    for (const each of found.texts) {
      const piece = { start: each.start, end: each.end, isJson: unit.json !== undefined };
      // A file is whole where it stands.
      const key = each.spelt ? `${each.start}` : each.channel;
      const known = channels.get(key);
      if (!known) channels.set(key, { first: each, text: each.text, pieces: [piece] });
      else {
        known.text += each.text;
        known.pieces.push(piece);
      }
    }
  }
  const byText = new Map<string, JoinedText>();
  const texts: JoinedText[] = [];
  for (const { first, text, pieces } of channels.values()) {
    const isWhole = !first.isRevealing && !first.spelt;
    const same = isWhole ? byText.get(text) : undefined;
    // The Responses API says a text once in pieces and then up to four times as a whole.
    if (same && pieces.length === 1) {
      same.repeats.push(pieces[0]!);
      continue;
    }
    const joined = joinedText(first, text, pieces);
    if (isWhole) byText.set(text, joined);
    texts.push(joined);
  }
  return { texts: texts.flatMap(opened), revealing, hasUnread };
}

const joinedText = (first: FoundText, text: string, pieces: readonly Piece[]): JoinedText => {
  const { role, kind, turn, where, start, end, spelt, isRevealing } = first;
  return { text, role, kind, turn, where, start, end, spelt, isRevealing, pieces, repeats: [] };
};

/** Arguments of a tool come in pieces, and are JSON when they are whole. */
function opened(joined: JoinedText): JoinedText[] {
  const { text, kind } = joined;
  const inner = kind === 'tool_call' || kind === 'tool_result' ? textsWithin(text, joined) : null;
  if (!inner) return [joined];
  return inner.map((each, index) => ({
    ...joined,
    text: each.text,
    kind: each.kind,
    within: { source: text, start: each.start, end: each.end },
    ...(index === 0 && { whole: text }),
  }));
}

/** An event that is no JSON is text as it stands, apart from the one that only says that the stream is over. */
export function textsOf(source: string, { start, end, json }: Unit, side: Side) {
  if (json !== undefined) return findTexts(source, json, side, start, true);
  const text = source.slice(start, end);
  const isSaid = text !== '' && text !== '[DONE]';
  const plain: FoundText = {
    text,
    role: 'assistant',
    kind: 'text',
    turn: 0,
    where: 'data',
    channel: 'data',
    start,
    end,
  };
  return { texts: isSaid ? [plain] : [], revealing: [], hasTokens: false, hasUnread: false, end };
}
