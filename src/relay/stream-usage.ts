import { findMembers } from '../core/json-bytes.ts';
import type { Usage } from '../core/usage.ts';
import { sentHeaders } from '../http/headers.ts';
import type { Incoming } from '../http/upstream.ts';
import { setMember } from '../routing/params.ts';
import { keepWhole } from './body.ts';
import type { Exchange, OpenCall, Prepared } from './call.ts';

const EMPTY_CHOICES = /"choices"\s*:\s*\[\s*\]/;
/** The chunk with the usage is far shorter; what is longer is passed on as it comes. */
const LONGEST_HELD = 64 << 10;
const LF = 0x0a;
const CR = 0x0d;

/**
 * An OpenAI stream tells its usage only when asked to. Where a limit counts it, the gateway asks, whatever the client said,
 * and takes the extra chunk out again for a client that did not want it. At once, unless the body must be read whole first.
 */
export function askForUsage({ call, prepared }: Exchange, maxBodyBytes: number): Prepared | Promise<Prepared> {
  const { body } = prepared;
  if (!body || !call.isJson || prepared.translation || !isCompletion(call)) return prepared;
  // Whether it streams may stand in what was not read.
  if (body.rest)
    return keepWhole(body, maxBodyBytes, true).then((whole) => withUsage({ ...prepared, body: whole }, whole.head));
  return withUsage(prepared, body.head);
}

/** What reaches a provider untranslated at these endpoints, or at the same address below `/proxy`, has OpenAI's format. */
function isCompletion({ endpoint, path }: OpenCall): boolean {
  if (endpoint === 'chatComplete' || endpoint === 'complete') return true;
  return endpoint === 'proxy' && COMPLETIONS.test(path.includes('%') ? decoded(path) : path);
}

const COMPLETIONS = /\/completions\/*$/i;

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function withUsage(prepared: Prepared, given: Uint8Array): Prepared {
  if (!mayStream(given)) return prepared;
  const options = streamOptions(given);
  // A client that asked for it once, and not twice in two ways, gets what the provider says.
  if (options === null || options === 'asked') return prepared;
  const head = setMember(given, 'stream_options', JSON.stringify({ ...options, include_usage: true }));
  return {
    ...prepared,
    body: { head, rest: null },
    grownBy: prepared.grownBy + head.byteLength - given.byteLength,
    translation: {
      headers: { 'accept-encoding': 'identity' },
      notes: {},
      answer: async (incoming, report) => (isEventStream(incoming) ? withoutUsageChunk(incoming, report) : incoming),
    },
  };
}

/** Which of two members of that name counts is the provider's to choose. */
function mayStream(body: Uint8Array): boolean {
  return findMembers(body, 'stream').some(({ start }) => body[start] === 't'.charCodeAt(0));
}

const isEventStream = ({ status, headers }: Incoming) =>
  status < 400 && (sentHeaders(headers)['content-type'] ?? '').startsWith('text/event-stream');

/** What the client says of its stream. Null: it is nothing that could be added to. */
function streamOptions(body: Uint8Array): Record<string, unknown> | 'asked' | null {
  const members = findMembers(body, 'stream_options');
  const member = members.at(-1);
  if (!member) return {};
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(body.subarray(member.start, member.end)));
    if (value === null) return {};
    if (typeof value !== 'object' || Array.isArray(value)) return null;
    const options = value as Record<string, unknown>;
    return options.include_usage === true && members.length === 1 ? 'asked' : options;
  } catch {
    return null;
  }
}

/** Passes whole events on; one without choices is the usage. A client can do nothing with half an event. */
function withoutUsageChunk(incoming: Incoming, report: (usage: Usage) => void): Incoming {
  let pending: Uint8Array = new Uint8Array();
  const passed = (bytes: Uint8Array): Uint8Array => {
    const kept: Uint8Array[] = [];
    let from = 0;
    for (let end = eventEnd(bytes, from); end > 0; end = eventEnd(bytes, from)) {
      const event = bytes.subarray(from, end);
      if (!isUsage(event, report)) kept.push(event);
      from = end;
    }
    // The blank line that ends the event may have been cut.
    const isLong = bytes.byteLength - from > LONGEST_HELD;
    if (isLong) kept.push(bytes.subarray(from, bytes.byteLength - 3));
    pending = bytes.slice(isLong ? -3 : from);
    return Buffer.concat(kept);
  };
  return {
    status: incoming.status,
    statusText: incoming.statusText,
    headers: incoming.headers,
    read: async () => {
      for (;;) {
        const piece = await incoming.read();
        if (piece === null) {
          const rest = pending;
          pending = new Uint8Array();
          return rest.byteLength > 0 && !isUsage(rest, report) ? rest : null;
        }
        const whole = passed(pending.byteLength === 0 ? piece : Buffer.concat([pending, piece]));
        if (whole.byteLength > 0) return whole;
      }
    },
    bytes: () => incoming.bytes(),
    cancel: () => incoming.cancel(),
  };
}

/** One past the blank line that ends the event; 0 when it has not come. */
function eventEnd(bytes: Uint8Array, from: number): number {
  for (let at = bytes.indexOf(LF, from); at >= 0; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at + 1] === LF) return at + 2;
    if (bytes[at + 1] === CR && bytes[at + 2] === LF) return at + 3;
  }
  return 0;
}

function isUsage(event: Uint8Array, report: (usage: Usage) => void): boolean {
  const text = new TextDecoder().decode(event);
  if (!text.includes('"usage"') || !EMPTY_CHOICES.test(text)) return false;
  try {
    const { usage } = JSON.parse(text.replace(/^data: ?/gm, '')) as { usage?: Record<string, unknown> | null };
    if (!usage) return false;
    report(usageOf(usage));
    return true;
  } catch {
    return false;
  }
}

function usageOf(usage: Record<string, unknown>): Usage {
  const number = (value: unknown) => (typeof value === 'number' && value >= 0 ? value : undefined);
  const details = (name: string) => (usage[name] ?? {}) as Record<string, unknown>;
  return {
    inputTokens: number(usage.prompt_tokens),
    outputTokens: number(usage.completion_tokens),
    totalTokens: number(usage.total_tokens),
    cachedInputTokens: number(details('prompt_tokens_details').cached_tokens),
    reasoningTokens: number(details('completion_tokens_details').reasoning_tokens),
  };
}
