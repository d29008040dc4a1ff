import { AwsEventStreamParser } from '../dialects/aws-event-stream.ts';
import { FramingError } from '../dialects/framing-error.ts';
import { parsed } from '../dialects/json.ts';
import { type ServerSentEvent, SseParser } from '../dialects/sse.ts';
import type { TextPart } from './check.ts';
import type { Side } from './text-context.ts';
import { type FoundText, findTexts, type Stretch, Unreadable } from './texts.ts';

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

/** A text of which every event has a piece; some events repeat it whole. */
export interface JoinedText extends TextPart {
  readonly pieces: readonly Piece[];
  readonly repeats: Piece[];
}

export function eventsIn(bytes: Uint8Array): Events & { readonly events: readonly ServerSentEvent[] } {
  const parser = new SseParser({ mostBytes: Math.max(1, bytes.byteLength) });
  const events = [...parser.push(bytes), ...parser.end()];
  return { ...written(events), events };
}

/** Line ends in JSON stand between its values, where they mean nothing. */
const onOneLine = (data: string) => data.replace(/[\r\n]+/g, ' ');

export function written(events: readonly ServerSentEvent[]): Events {
  let source = '';
  const units: Unit[] = [];
  for (const { event, data, id } of events) {
    if (event) source += `event: ${event}\n`;
    if (id !== undefined) source += `id: ${id}\n`;
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
}

/** The texts of a stream as they are once all its pieces are put together. */
export function joinTexts({ source, units }: Events, side: Side): Joined {
  const channels = new Map<string, { first: FoundText; text: string; pieces: Piece[] }>();
  const revealing: Stretch[] = [];
  for (const unit of units) {
    const found = textsOf(source, unit, side);
    revealing.push(...found.revealing);
    for (const each of found.texts) {
      const piece = { start: each.start, end: each.end, isJson: unit.json !== undefined };
      const known = channels.get(each.channel);
      if (!known) channels.set(each.channel, { first: each, text: each.text, pieces: [piece] });
      else {
        known.text += each.text;
        known.pieces.push(piece);
      }
    }
  }
  const byText = new Map<string, JoinedText>();
  const texts: JoinedText[] = [];
  for (const { first, text, pieces } of channels.values()) {
    const same = byText.get(text);
    // The Responses API says a text once in pieces and then up to four times as a whole.
    if (same && pieces.length === 1) {
      same.repeats.push(pieces[0]!);
      continue;
    }
    const { role, kind, turn } = first;
    const joined = { text, role, kind, turn, where: first.channel, pieces, repeats: [] };
    byText.set(text, joined);
    texts.push(joined);
  }
  return { texts, revealing };
}

/** An event that is no JSON is text as it stands, apart from the one that only says that the stream is over. */
export function textsOf(source: string, { start, end, json }: Unit, side: Side) {
  if (json !== undefined) return findTexts(source, json, side, start);
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
  return { texts: isSaid ? [plain] : [], revealing: [], hasTokens: false, end };
}
