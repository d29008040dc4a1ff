import type { ServerSentEvent } from '../dialects/sse.ts';
import type { TextPart } from './check.ts';
import { textsOf, written } from './events.ts';
import type { Reading } from './reading.ts';
import { editsOf, type Stretch, spliced } from './splice.ts';
import type { Side } from './text-context.ts';
import { type FoundText, textsWithin } from './texts.ts';

/** Looks at what is held back; answers what has become of it, or throws when it must not pass. */
export type Look = (reading: Reading) => Promise<Reading>;

export interface WindowOptions {
  readonly side: Side;
  /** How many characters of a text have to be seen together. */
  readonly span: number;
  readonly look: Look;
}

/** A text that comes in pieces. */
interface Channel {
  readonly part: Omit<TextPart, 'text'>;
  /** Arguments of a tool are JSON, which says what it says when it is whole; so it waits for its end. */
  readonly isWhole: boolean;
  /** It goes whole where anything is changed, and cannot be replaced itself. */
  readonly isRevealing: boolean;
  /** The end of what was given on: what follows may only be understood with it. */
  before: string;
  /** What is held back. */
  held: string;
  isClosed: boolean;
  /** Where the last look has put something else: in `held`, and the same in what it became. */
  change: Change;
}

interface Change {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

interface Piece extends Stretch {
  readonly channel: Channel;
  readonly length: number;
  readonly isJson: boolean;
  readonly spelt: ((text: string) => string) | undefined;
}

/** An event on its way, with the pieces of texts in it. */
interface Waiting {
  readonly source: string;
  readonly pieces: readonly Piece[];
  readonly revealing: readonly Stretch[];
}

const NO_CHANGE: Change = { from: 0, to: 0, text: '' };
/** Looking at each piece as it comes would cost more than relaying it. */
const LEAST_STEP = 48;

/**
 * A stream that is given on piece by piece, each as soon as everything that a check has to see together with it was seen:
 * of each text the last `span - 1` characters stay until more comes or the text is over. Events keep their order.
 */
export class WindowedEvents {
  readonly #options: WindowOptions;
  readonly #channels = new Map<string, Channel>();
  #waiting: Waiting[] = [];
  #isTransformed = false;
  #hasLooked = false;
  #bytes = 0;

  constructor(options: WindowOptions) {
    this.#options = options;
  }

  /** Whether anything was looked at. */
  get hasLooked(): boolean {
    return this.#hasLooked;
  }

  /** Characters that are held back; the caller of `push` bounds them. */
  get size(): number {
    return this.#bytes;
  }

  /** Takes events and answers what may be given on. */
  async push(events: readonly ServerSentEvent[]): Promise<string> {
    let isDue = false;
    for (const event of events) isDue = this.#take(event) || isDue;
    if (isDue) await this.#look();
    return this.#release(isDue);
  }

  /** After the last event. */
  async end(): Promise<string> {
    for (const channel of this.#channels.values()) channel.isClosed = true;
    await this.#look();
    return this.#release(true);
  }

  /** Answers whether it is time to look. */
  #take(event: ServerSentEvent): boolean {
    const { source, units } = written([event]);
    const unit = units[0]!;
    const { texts, revealing } = textsOf(source, unit, this.#options.side);
    const pieces = texts.map((found) => {
      const channel = this.#channelOf(found.channel, found);
      channel.held += found.text;
      return {
        channel,
        start: found.start,
        end: found.end,
        length: found.text.length,
        isJson: unit.json !== undefined,
        spelt: found.spelt,
      };
    });
    this.#waiting.push({ source, pieces, revealing });
    this.#bytes += source.length;
    const closed = this.#close(unit.json);
    const step = Math.max(LEAST_STEP, this.#options.span);
    const isFull = ({ channel }: Piece) => !channel.isWhole && channel.held.length >= this.#options.span - 1 + step;
    return closed || pieces.some(isFull);
  }

  #channelOf(key: string, { role, kind, turn, where, isRevealing = false }: FoundText): Channel {
    let channel = this.#channels.get(key);
    if (!channel) {
      channel = {
        part: { role, kind, turn, where },
        isWhole: kind === 'tool_call',
        isRevealing,
        before: '',
        held: '',
        isClosed: false,
        change: NO_CHANGE,
      };
      this.#channels.set(key, channel);
    }
    channel.isClosed = false;
    return channel;
  }

  /** Events that say that a text is over, in the words of all vendors. */
  #close(json: unknown): boolean {
    if (json === null || typeof json !== 'object') return false;
    const { type, choices } = json as { type?: unknown; choices?: unknown };
    if (typeof type === 'string' && /(?:_stop|\.done|\.completed|\.incomplete|\.failed)$/.test(type)) {
      for (const channel of this.#channels.values()) channel.isClosed = true;
      return true;
    }
    const finished = (Array.isArray(choices) ? choices : []).filter((choice) => choice?.finish_reason);
    for (const { index = 0 } of finished) {
      for (const [key, channel] of this.#channels) if (key.includes(`choices[${index}]`)) channel.isClosed = true;
    }
    return finished.length > 0;
  }

  async #look() {
    const held = [...this.#channels.values()].filter(
      ({ held, isWhole, isClosed }) => held !== '' && (!isWhole || isClosed),
    );
    if (held.length === 0) return;
    this.#hasLooked = true;
    const views = held.map(viewOf);
    const seen = await this.#options.look(windowReading(views.flatMap(({ texts }) => texts)));
    const straddling: Channel[] = [];
    let at = 0;
    for (const [index, channel] of held.entries()) {
      const { texts, textAfter } = views[index]!;
      const now = textAfter(seen.texts.slice(at, at + texts.length).map(({ text }) => text));
      at += texts.length;
      const change = changeOf(channel, now);
      if (change) channel.change = change;
      else straddling.push(channel);
    }
    if (straddling.length > 0) await this.#lookAgain(straddling);
    if (held.some(({ change: { from, to, text } }) => from < to || text !== '')) this.#isTransformed = true;
  }

  /** What was given on cannot be changed any more, so what is held back is looked at alone. */
  async #lookAgain(channels: readonly Channel[]) {
    const seen = await this.#options.look(windowReading(channels.map(({ part, held }) => ({ ...part, text: held }))));
    for (const [index, channel] of channels.entries())
      channel.change = changeOf({ before: '', held: channel.held }, seen.texts[index]!.text) ?? NO_CHANGE;
  }

  /** As many events as may go: none of their pieces reaches into what has to wait. */
  #release(hasLooked: boolean): string {
    const taken = new Map<Channel, number>();
    let count = 0;
    let sound = 0;
    let soundTaken = new Map<Channel, number>();
    for (const { pieces } of this.#waiting) {
      if (pieces.length > 0 && !hasLooked) break;
      for (const { channel, length } of pieces) taken.set(channel, (taken.get(channel) ?? 0) + length);
      if (![...taken].every(([channel, length]) => length <= this.#free(channel))) break;
      count++;
      // A change is given on whole or not at all.
      if ([...taken].every(([{ change }, length]) => length <= change.from || length >= change.to)) {
        sound = count;
        soundTaken = new Map(taken);
      }
    }
    return this.#given(this.#waiting.splice(0, sound), soundTaken);
  }

  #free({ held, isClosed, isWhole }: Channel): number {
    if (isWhole) return isClosed ? held.length : 0;
    return isClosed ? held.length : Math.max(0, held.length - (this.#options.span - 1));
  }

  #given(events: readonly Waiting[], taken: ReadonlyMap<Channel, number>): string {
    const said = new Map<Channel, string>();
    for (const [channel, length] of taken) said.set(channel, textUpTo(channel, length));
    const isFirst = new Set<Channel>();
    let result = '';
    for (const { source, pieces, revealing } of events) {
      this.#bytes -= source.length;
      const edits = pieces.flatMap((piece) => {
        const { channel } = piece;
        // Among those that go whole, below.
        if (channel.isRevealing || isUnchanged(channel, taken.get(channel)!)) return [];
        // Where something was changed, all that goes now goes with the first piece.
        const changed = isFirst.has(channel) ? '' : said.get(channel)!;
        const text = piece.spelt ? piece.spelt(changed) : changed;
        isFirst.add(channel);
        return [
          {
            start: piece.start,
            end: piece.end,
            by: piece.isJson ? JSON.stringify(text) : text.replace(/[\r\n]+/g, ' '),
          },
        ];
      });
      const hidden = this.#isTransformed ? revealing.map(({ start, end }) => ({ start, end, by: 'null' })) : [];
      result += spliced(source, [...edits, ...hidden]);
    }
    for (const [channel, length] of taken) this.#advance(channel, length, said.get(channel)!);
    return result;
  }

  #advance(channel: Channel, length: number, said: string) {
    const kept = this.#options.span - 1;
    channel.before = kept > 0 ? (channel.before + said).slice(-kept) : '';
    channel.held = channel.held.slice(length);
    const { from, to, text } = channel.change;
    channel.change = to <= length ? NO_CHANGE : { from: from - length, to: to - length, text };
  }
}

const isUnchanged = ({ change: { from, to, text } }: Channel, length: number): boolean =>
  length <= from || (from === to && text === '');

function textUpTo({ held, change: { from, to, text } }: Channel, length: number): string {
  if (length <= from) return held.slice(0, length);
  return held.slice(0, from) + text + held.slice(to, length);
}

/** The one stretch of what is held back that a look has changed; null when it begins in what was given on before. */
function changeOf({ before, held }: Pick<Channel, 'before' | 'held'>, now: string): Change | null {
  const was = before + held;
  if (now === was) return NO_CHANGE;
  let from = 0;
  while (from < was.length && was[from] === now[from]) from++;
  let end = 0;
  const most = Math.min(was.length, now.length) - from;
  while (end < most && was[was.length - 1 - end] === now[now.length - 1 - end]) end++;
  const to = was.length - end;
  if (to <= before.length) return NO_CHANGE;
  if (from < before.length) return null;
  return { from: from - before.length, to: to - before.length, text: now.slice(from, now.length - end) };
}

interface View {
  readonly texts: readonly TextPart[];
  /** What becomes of the channel's text when these have become others. */
  readonly textAfter: (texts: readonly string[]) => string;
}

/** What checks see of a channel: its text, or the texts in it where it is JSON. */
function viewOf({ part, before, held }: Channel): View {
  const text = before + held;
  const inner = part.kind === 'tool_call' ? textsWithin(text, part) : null;
  if (!inner) return { texts: [{ ...part, text }], textAfter: ([now]) => now! };
  return {
    texts: inner.map(({ text: said, kind }) => ({ ...part, kind, text: said })),
    textAfter: (texts) => {
      const changes = inner
        .map((at, index) => ({ at, text: texts[index]! }))
        .filter(({ at, text }) => at.text !== text);
      return spliced(text, editsOf(changes));
    },
  };
}

/** Texts without a body around them. */
function windowReading(texts: readonly TextPart[]): Reading {
  return {
    texts,
    json: null,
    model: null,
    obstacle: null,
    isEmpty: texts.length === 0,
    bytes: new Uint8Array(),
    changed: (to) => {
      if ('json' in to) return null;
      const next = [...texts];
      for (const { part, text } of to.texts) next[part] = { ...next[part]!, text };
      return windowReading(next);
    },
  };
}
