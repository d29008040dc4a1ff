import type { StreamDecoder } from '../dialect.ts';
import { cutOff, garbled } from '../failure.ts';
import type { Failure, JsonObject, Part, PartEnd, ReplyEvent } from '../ir.ts';
import { isObject, objectIn, objectsIn, parsed, present, restOf, someTextIn, textIn } from '../json.ts';
import type { ServerSentEvent } from '../sse.ts';
import { decodeError } from './errors.ts';
import { readFinish, readImage, readTier, readUsage } from './reply.ts';

/** A block whose end has not come. */
interface OpenBlock {
  /** Absent as long as the block is held back, because it means something only when it is whole. */
  index?: number;
  type?: 'text' | 'reasoning' | 'tool-call';
  hasText: boolean;
  signature: string;
  /** Bytes come in base64 of their own each. */
  readonly bytes: Buffer[];
  readonly citations: JsonObject[];
  /** The start and the deltas of a block that only Bedrock knows. */
  readonly start: JsonObject;
  readonly deltas: JsonObject[];
}

const EVENTS = [
  'messageStart',
  'contentBlockStart',
  'contentBlockDelta',
  'contentBlockStop',
  'messageStop',
  'metadata',
] as const;
const METADATA_MEMBERS = new Set(['usage', 'serviceTier', 'p']);

/** Text and thoughts begin with their first piece; only calls and pictures have a start of their own. */
export class ConverseStreamDecoder implements StreamDecoder {
  readonly #open = new Map<unknown, OpenBlock>();
  #parts = 0;
  #hasStarted = false;
  #finish: JsonObject | undefined;
  #metadata: JsonObject = {};
  #hasFailed = false;

  push({ event, data }: ServerSentEvent): readonly ReplyEvent[] {
    if (this.#hasFailed) return [];
    const payload = parsed(data);
    if (event?.startsWith('exception/'))
      return this.#fail(decodeError(undefined, payload ?? data, event.slice('exception/'.length)));
    if (!isObject(payload)) return this.#fail(garbled('an event that is no JSON object', data.slice(0, 200)));
    // Without a name, the event is the only member of the data.
    const name = EVENTS.find((known) => known === event || (event === undefined && isObject(payload[known])));
    if (!name) return [];
    const events = this.#event(name, event === undefined ? objectIn(payload[name]) : payload);
    if (this.#hasStarted) return events;
    this.#hasStarted = true;
    return [{ type: 'start', head: {} }, ...events];
  }

  /** What is told of the whole answer comes after its end, so the finish waits for it. */
  end(): readonly ReplyEvent[] {
    if (this.#hasFailed) return [];
    if (!this.#finish) return this.#fail(cutOff());
    const hasMore = Object.keys(this.#metadata).length > 0;
    return [
      {
        type: 'finish',
        choice: 0,
        finish: readFinish(this.#finish),
        ...(hasMore && { ext: { converse: this.#metadata } }),
      },
    ];
  }

  #event(name: (typeof EVENTS)[number], payload: JsonObject): ReplyEvent[] {
    switch (name) {
      case 'messageStart':
        return [];
      case 'contentBlockStart':
        return this.#startBlock(payload.contentBlockIndex, objectIn(payload.start));
      case 'contentBlockDelta':
        return this.#delta(payload.contentBlockIndex, objectIn(payload.delta));
      case 'contentBlockStop':
        return this.#stopBlock(payload.contentBlockIndex);
      case 'messageStop':
        this.#finish = payload;
        return [...this.#open.keys()].flatMap((at) => this.#stopBlock(at));
      case 'metadata':
        this.#metadata = restOf(payload, METADATA_MEMBERS) ?? {};
        return this.#usage(payload);
      default:
        return name satisfies never;
    }
  }

  #fail(failure: Failure): ReplyEvent[] {
    this.#hasFailed = true;
    return [{ type: 'error', failure }];
  }

  #usage({ usage, serviceTier }: JsonObject): ReplyEvent[] {
    const tier = readTier(serviceTier);
    if (!isObject(usage) && tier === undefined) return [];
    return [present<ReplyEvent>({ type: 'usage', usage: readUsage(objectIn(usage)), serviceTier: tier })];
  }

  #block(at: unknown, start: JsonObject): OpenBlock {
    const block: OpenBlock = { hasText: false, signature: '', bytes: [], citations: [], start, deltas: [] };
    this.#open.set(at, block);
    return block;
  }

  #startPart(block: OpenBlock, part: Part): ReplyEvent[] {
    block.index = this.#parts++;
    block.type = part.type as OpenBlock['type'];
    return [{ type: 'part-start', choice: 0, index: block.index, part }];
  }

  #startBlock(at: unknown, start: JsonObject): ReplyEvent[] {
    const block = this.#block(at, start);
    const { toolUseId, name, type } = objectIn(start.toolUse);
    if (!isObject(start.toolUse) || (type !== undefined && type !== null)) return [];
    return this.#startPart(block, {
      type: 'tool-call',
      id: textIn(toolUseId) ?? '',
      name: textIn(name) ?? '',
      argsText: '',
    });
  }

  #delta(at: unknown, delta: JsonObject): ReplyEvent[] {
    const block = this.#open.get(at) ?? this.#block(at, {});
    const thought = objectIn(delta.reasoningContent);
    if (typeof delta.text === 'string') return this.#text(block, 'text', delta.text);
    if (typeof thought.text === 'string') return this.#text(block, 'reasoning', thought.text);
    if (block.type === 'tool-call') return this.#text(block, 'tool-call', textIn(objectIn(delta.toolUse).input) ?? '');
    if (typeof thought.signature === 'string') {
      block.signature += thought.signature;
      return block.type === 'reasoning' ? [] : this.#startPart(block, { type: 'reasoning' });
    }
    if (typeof thought.redactedContent === 'string') block.bytes.push(Buffer.from(thought.redactedContent, 'base64'));
    else if (isObject(delta.citation)) block.citations.push(delta.citation);
    else block.deltas.push(delta);
    return [];
  }

  #text(block: OpenBlock, type: 'text' | 'reasoning' | 'tool-call', text: string): ReplyEvent[] {
    if (text === '') return [];
    const events =
      block.type === type ? [] : this.#startPart(block, type === 'text' ? { type, text: '' } : ({ type } as Part));
    block.hasText = true;
    return [...events, { type: 'part-delta', choice: 0, index: block.index!, delta: { text } }];
  }

  #stopBlock(at: unknown): ReplyEvent[] {
    const block = this.#open.get(at);
    if (!block) return [];
    this.#open.delete(at);
    const events: ReplyEvent[] = [];
    if (block.index === undefined) {
      const whole = wholePart(block);
      if (!whole) return [];
      events.push(...this.#startPart(block, whole));
    }
    const index = block.index!;
    if (block.type === 'tool-call' && !block.hasText)
      events.push({ type: 'part-delta', choice: 0, index, delta: { text: '{}' } });
    const end = endOf(block);
    events.push({ type: 'part-end', choice: 0, index, ...(end && { end }) });
    return events;
  }
}

function endOf({ type, signature, citations }: OpenBlock): PartEnd | undefined {
  if (type === 'reasoning' && signature) return { signature, signedBy: 'converse' };
  return type === 'text' && citations.length > 0 ? { ext: { converse: { citations } } } : undefined;
}

/** A block that was held back; undefined when it came to nothing. */
function wholePart({ bytes, start, deltas }: OpenBlock): Part | undefined {
  if (bytes.length > 0)
    return { type: 'reasoning', redacted: Buffer.concat(bytes).toString('base64'), signedBy: 'converse' };
  if (isObject(start.image)) return wholeImage(start.image, deltas);
  const input = deltas.map((delta) => textIn(objectIn(delta.toolUse).input) ?? '').join('');
  if (isObject(start.toolUse)) return opaque({ toolUse: { ...start.toolUse, input: parsed(input || '{}') ?? input } });
  if (!isObject(start.toolResult)) return undefined;
  const content = deltas.flatMap((delta) => objectsIn(delta.toolResult));
  return opaque({ toolResult: { ...start.toolResult, content } });
}

const opaque = (raw: JsonObject): Part => ({ type: 'opaque', dialect: 'converse', raw });

function wholeImage(start: JsonObject, deltas: readonly JsonObject[]): Part | undefined {
  const pieces = deltas.map((delta) => someTextIn(objectIn(objectIn(delta.image).source).bytes) ?? '');
  const bytes = Buffer.concat(pieces.map((piece) => Buffer.from(piece, 'base64'))).toString('base64');
  return bytes === '' ? undefined : readImage({ ...start, source: { bytes } });
}
