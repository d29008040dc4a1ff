import { isRecord, type Json, listIn, textIn } from './parts.ts';

/** The events of a stream, or of lines of JSON. What is cut off at the end is left out. */
export function eventsOf(body: string): Json[] {
  const isEvents = /^(data|event|id|:)/m.test(body.slice(0, 2_000)) && !body.trimStart().startsWith('{');
  const texts = isEvents
    ? body.split(/\r?\n\r?\n|\r\r/).map((event) =>
        event
          .split(/\r?\n|\r/)
          .filter((line) => line.startsWith('data:'))
          .map((line) => line.slice(5).trimStart())
          .join('\n'),
      )
    : body.split('\n');
  return texts.flatMap((text) => {
    if (text.trim() === '' || text === '[DONE]') return [];
    try {
      const event: unknown = JSON.parse(text);
      return isRecord(event) ? [event] : [];
    } catch {
      return [];
    }
  });
}

/** The answer that a stream amounts to, in the shape that it would have had at once. */
export function joined(events: readonly Json[]): Json | null {
  const last = events.findLast(({ type }) => textIn(type).startsWith('response.') && type !== 'response.created');
  if (last && events.some(({ type }) => textIn(type).startsWith('response.'))) return joinedResponse(events);
  if (events.some(({ type }) => type === 'message_start' || type === 'content_block_start'))
    return joinedMessage(events);
  if (events.some(({ candidates }) => Array.isArray(candidates))) return joinedCandidates(events);
  if (events.some(({ choices }) => Array.isArray(choices))) return joinedChunks(events);
  if (events.some(({ message }) => isRecord(message))) return joinedLines(events);
  return events.find(({ error }) => error !== undefined) ?? null;
}

type Open = Record<string, unknown>;

function joinedChunks(events: readonly Json[]): Json {
  const choices = new Map<number, Open>();
  const calls = new Map<number, OpenCalls>();
  let usage: unknown = null;
  let error: unknown;
  for (const event of events) {
    usage = event.usage ?? usage;
    error = event.error ?? error;
    for (const choice of listIn(event.choices).filter(isRecord)) {
      const index = Number(choice.index ?? 0);
      const open = choices.get(index) ?? { text: '', message: { role: 'assistant', content: '' } };
      choices.set(index, open);
      if (typeof choice.text === 'string') open.text += choice.text;
      const ofChoice = calls.get(index) ?? new Map();
      calls.set(index, ofChoice);
      if (isRecord(choice.delta)) addDelta(open.message as Open, choice.delta, ofChoice);
      open.finish_reason = choice.finish_reason ?? open.finish_reason ?? null;
    }
  }
  const made = [...choices].sort(([one], [other]) => one - other).map(([, choice]) => choice);
  return { choices: made, usage, ...(error !== undefined && { error }) };
}

interface OpenCall {
  id: string;
  function: { name: string; arguments: string };
}

/** Calls by their index: an answer may name any number, so they are no places in a list. */
type OpenCalls = Map<number, OpenCall>;

function addDelta(message: Open, delta: Json, calls: OpenCalls) {
  for (const name of ['content', 'reasoning_content', 'reasoning', 'refusal'])
    if (typeof delta[name] === 'string') message[name] = textIn(message[name]) + delta[name];
  for (const call of listIn(delta.tool_calls).filter(isRecord)) {
    const index = Number(call.index ?? calls.size);
    const open = calls.get(index) ?? { id: '', function: { name: '', arguments: '' } };
    calls.set(index, open);
    const made = isRecord(call.function) ? call.function : {};
    open.id ||= textIn(call.id);
    open.function.name += textIn(made.name);
    open.function.arguments +=
      typeof made.arguments === 'string' ? made.arguments : JSON.stringify(made.arguments ?? '');
  }
  message.tool_calls = [...calls.values()];
}

function joinedMessage(events: readonly Json[]): Json {
  const blocks = new Map<number, Open>();
  let stop: unknown = null;
  let error: unknown;
  for (const event of events) {
    const index = Number(event.index ?? 0);
    if (event.type === 'content_block_start' && isRecord(event.content_block))
      blocks.set(index, { ...event.content_block });
    const block = blocks.get(index);
    const delta = isRecord(event.delta) ? event.delta : null;
    if (event.type === 'content_block_delta' && block && delta) {
      if (typeof delta.text === 'string') block.text = textIn(block.text) + delta.text;
      if (typeof delta.thinking === 'string') block.thinking = textIn(block.thinking) + delta.thinking;
      if (typeof delta.partial_json === 'string') block.partial = textIn(block.partial) + delta.partial_json;
    }
    if (event.type === 'message_delta' && delta) stop = delta.stop_reason ?? stop;
    error = event.error ?? error;
  }
  const content = [...blocks.values()].map(({ partial, ...block }) => (partial ? { ...block, input: partial } : block));
  return { content, stop_reason: stop, ...(error !== undefined && { error }) };
}

function joinedResponse(events: readonly Json[]): Json {
  const whole = events.findLast(({ response }) => isRecord(response) && listIn(response.output).length > 0)?.response;
  if (isRecord(whole)) return whole;
  const items = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item);
  const text = events
    .filter(({ type }) => type === 'response.output_text.delta')
    .map(({ delta }) => textIn(delta))
    .join('');
  const error = events.find((event) => event.error !== undefined)?.error;
  const output = items.length > 0 ? items : text ? [{ type: 'message', role: 'assistant', content: text }] : [];
  return { output, ...(error !== undefined && { error }) };
}

function joinedCandidates(events: readonly Json[]): Json {
  const parts: Open[] = [];
  let finishReason: unknown = null;
  for (const event of events)
    for (const candidate of listIn(event.candidates).filter(isRecord)) {
      finishReason = candidate.finishReason ?? finishReason;
      for (const part of listIn(isRecord(candidate.content) ? candidate.content.parts : []).filter(isRecord)) {
        const before = parts.at(-1);
        const isMore =
          typeof part.text === 'string' && typeof before?.text === 'string' && before.thought === part.thought;
        if (isMore) before.text = textIn(before.text) + textIn(part.text);
        else parts.push({ ...part });
      }
    }
  return { candidates: [{ content: { role: 'model', parts }, finishReason }] };
}

function joinedLines(events: readonly Json[]): Json {
  const message: Open = { role: 'assistant', content: '' };
  const calls: OpenCalls = new Map();
  for (const event of events) if (isRecord(event.message)) addDelta(message, event.message, calls);
  return { message };
}
