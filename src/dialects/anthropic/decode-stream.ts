import type { StreamDecoder } from '../dialect.ts';
import { cutOff, garbled } from '../failure.ts';
import type { DialectName, JsonObject, Part, PartEnd, ReplyEvent } from '../ir.ts';
import { isObject, objectIn, parsed, present, textIn } from '../json.ts';
import type { ServerSentEvent } from '../sse.ts';
import { decodeError } from './errors.ts';
import { blockPart, decodeFinish, decodeHead, decodeUsage } from './reply.ts';
import { unsealed } from './signature.ts';

/** A block whose end has not come. */
interface OpenBlock {
  readonly index: number;
  readonly part: Part;
  /** What a block has come to that is only passed on whole. */
  raw: Record<string, unknown>;
  json: string;
  hasText: boolean;
  signature: string;
  citations: unknown[];
}

/** Blocks come one after the other here, so a block we do not know is held until it is whole. */
export class AnthropicStreamDecoder implements StreamDecoder {
  readonly #open = new Map<unknown, OpenBlock>();
  #parts = 0;
  #usage: JsonObject = {};
  #isFinished = false;
  #hasFailed = false;

  push({ data }: ServerSentEvent): readonly ReplyEvent[] {
    if (this.#hasFailed) return [];
    const event = parsed(data);
    if (!isObject(event)) return this.#fail(garbled('an event that is no JSON object', data.slice(0, 200)));
    switch (event.type) {
      case 'message_start':
        return this.#start(objectIn(event.message));
      case 'content_block_start':
        return this.#startBlock(event.index, objectIn(event.content_block));
      case 'content_block_delta':
        return this.#delta(event.index, objectIn(event.delta));
      case 'content_block_stop':
        return this.#stopBlock(event.index);
      case 'message_delta':
        return this.#finish(event);
      case 'error':
        return this.#fail(decodeError(undefined, event));
      default:
        // Pings, the end, and whatever the vendor invents.
        return [];
    }
  }

  end(): readonly ReplyEvent[] {
    return this.#isFinished || this.#hasFailed ? [] : this.#fail(cutOff());
  }

  #fail(failure: ReturnType<typeof cutOff>): ReplyEvent[] {
    this.#hasFailed = true;
    return [{ type: 'error', failure }];
  }

  #start(message: JsonObject): ReplyEvent[] {
    const events: ReplyEvent[] = [{ type: 'start', head: decodeHead(message) }];
    if (isObject(message.usage)) {
      this.#usage = message.usage;
      events.push({ type: 'usage', usage: decodeUsage(message.usage) });
    }
    return events;
  }

  #startBlock(at: unknown, block: JsonObject): ReplyEvent[] {
    const made = blockPart(block);
    // The text comes in deltas; a whole input in the first event is what some compatible servers send.
    const part = made.type === 'tool-call' ? { ...made, argsText: '' } : made;
    const json = made.type === 'tool-call' && made.argsText !== '{}' ? made.argsText : '';
    const index = this.#parts++;
    this.#open.set(at, { index, part, raw: { ...block }, json, hasText: false, signature: '', citations: [] });
    return part.type === 'opaque' ? [] : [{ type: 'part-start', choice: 0, index, part }];
  }

  #delta(at: unknown, delta: JsonObject): ReplyEvent[] {
    const block = this.#open.get(at);
    if (!block) return this.#fail(garbled('a piece of a block that was not started', delta));
    if (block.part.type === 'opaque') {
      hold(block, delta);
      return [];
    }
    const text = textIn(delta.text) ?? textIn(delta.thinking) ?? textIn(delta.partial_json);
    if (delta.type === 'signature_delta') block.signature = textIn(delta.signature) ?? '';
    else if (delta.type === 'citations_delta') block.citations.push(delta.citation);
    if (!text) return [];
    block.hasText = true;
    return [{ type: 'part-delta', choice: 0, index: block.index, delta: { text } }];
  }

  #stopBlock(at: unknown): ReplyEvent[] {
    const block = this.#open.get(at);
    if (!block) return [];
    this.#open.delete(at);
    const { index, part } = block;
    if (part.type === 'opaque') {
      const whole: Part = { ...part, raw: wholeRaw(block) };
      return [
        { type: 'part-start', choice: 0, index, part: whole },
        { type: 'part-end', choice: 0, index },
      ];
    }
    const events: ReplyEvent[] = [];
    if (part.type === 'tool-call' && !block.hasText)
      events.push({ type: 'part-delta', choice: 0, index, delta: { text: block.json || '{}' } });
    const end = endOf(block);
    events.push({ type: 'part-end', choice: 0, index, ...(end && { end }) });
    return events;
  }

  #finish(event: JsonObject): ReplyEvent[] {
    const events: ReplyEvent[] = [...this.#open.keys()].flatMap((at) => this.#stopBlock(at));
    if (isObject(event.usage)) {
      this.#usage = { ...this.#usage, ...withoutNulls(event.usage) };
      events.push({ type: 'usage', usage: decodeUsage(this.#usage) });
    }
    const delta = objectIn(event.delta);
    if (textIn(delta.stop_reason) === undefined || this.#isFinished) return events;
    this.#isFinished = true;
    events.push({ type: 'finish', choice: 0, finish: decodeFinish(delta) });
    return events;
  }
}

const withoutNulls = (object: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));

/** Pieces of a block that means nothing to us: texts grow, other members are set. */
function hold(block: OpenBlock, { type, partial_json, ...members }: JsonObject) {
  if (type === 'input_json_delta') {
    block.json += textIn(partial_json) ?? '';
    return;
  }
  for (const [name, value] of Object.entries(members)) {
    const before = block.raw[name];
    block.raw[name] = typeof before === 'string' && typeof value === 'string' ? before + value : value;
  }
}

const wholeRaw = ({ raw, json }: OpenBlock): JsonObject =>
  json === '' ? raw : { ...raw, input: parsed(json) ?? json };

function endOf({ part, signature, citations }: OpenBlock): PartEnd | undefined {
  if (signature) {
    const { opaque, signedBy }: { opaque: string; signedBy: DialectName } = unsealed(signature);
    return { signature: opaque, signedBy };
  }
  if (citations.length === 0) return undefined;
  return present<PartEnd>({ ext: { ...part.ext, anthropic: { ...part.ext?.anthropic, citations } } });
}
