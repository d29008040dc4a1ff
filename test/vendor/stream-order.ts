type Json = Readonly<Record<string, unknown>>;
// biome-ignore lint/suspicious/noExplicitAny: events are looked into as they came
type Event = any;

const ENDS = new Set([
  ...['response.completed', 'response.incomplete', 'response.failed', 'response.cancelled', 'error'],
]);
/** What the last event of a series says whole, of which the others said the pieces. */
const WHOLE: Readonly<Record<string, string>> = {
  'response.output_text': 'text',
  'response.refusal': 'refusal',
  'response.reasoning_text': 'text',
  'response.reasoning_summary_text': 'text',
  'response.function_call_arguments': 'arguments',
  'response.mcp_call_arguments': 'arguments',
  'response.custom_tool_call_input': 'input',
  'response.code_interpreter_call_code': 'code',
};

/** What is wrong with the order of a response's events: numbers, ids, places and pieces must agree. */
export function orderFaults(events: readonly Event[], { after = -1 }: { readonly after?: number } = {}): string[] {
  const faults: string[] = [];
  const say = (index: number, text: string) => faults.push(`events[${index}] ${events[index]?.type}: ${text}`);
  const isWhole = after === -1;
  const open = new Map<number, Json>();
  const done = new Map<number, Json>();
  const parts = new Set<string>();
  const pieces = new Map<string, string>();
  let id: unknown;
  if (isWhole && events[0]?.type !== 'response.created' && events[0]?.type !== 'error')
    say(0, 'the first event is response.created');
  for (const [index, event] of events.entries()) {
    if (event.sequence_number !== after + 1 + index)
      say(index, `sequence_number ${event.sequence_number}, expected ${after + 1 + index}`);
    const isLast = index === events.length - 1;
    // An error is told by itself, and then as the end of the response.
    const isTold = event.type === 'error' && events[index + 1]?.type === 'response.failed';
    if (!isTold && ENDS.has(event.type) !== isLast)
      say(index, isLast ? 'the last event is no end' : 'an end before the last event');
    if (event.response) {
      id ??= event.response.id;
      if (event.response.id !== id) say(index, `response.id ${event.response.id}, expected ${id}`);
    }
    const at = event.output_index;
    if (at === undefined) continue;
    if (event.type === 'response.output_item.added') {
      if (isWhole && at !== open.size + done.size) say(index, `output_index ${at}, expected ${open.size + done.size}`);
      open.set(at, event.item);
      continue;
    }
    const item = open.get(at);
    // Of an item that began before the place from which a client reads on, the beginning is not there.
    if (!item && !isWhole) continue;
    if (!item) {
      say(index, `there is no open item at output_index ${at}`);
      continue;
    }
    if (event.type === 'response.output_item.done') {
      if (event.item.id !== item.id || event.item.type !== item.type)
        say(index, `item ${event.item.type} ${event.item.id}, expected ${item.type} ${item.id}`);
      open.delete(at);
      done.set(at, event.item);
      continue;
    }
    if (event.item_id !== item.id) say(index, `item_id ${event.item_id}, expected ${item.id}`);
    const place = `${at}:${event.content_index ?? event.summary_index ?? ''}`;
    if (event.type.endsWith('_part.added')) {
      if (parts.has(place)) say(index, `part ${place} begins twice`);
      parts.add(place);
    } else if (place.length > `${at}:`.length && !parts.has(place)) say(index, `part ${place} has not begun`);
    const [, kind = '', step = ''] = /^(.*)\.(delta|done)$/.exec(event.type) ?? [];
    if (!(kind in WHOLE)) continue;
    const key = `${kind} ${place}`;
    if (step === 'delta') pieces.set(key, (pieces.get(key) ?? '') + event.delta);
    else if (event[WHOLE[kind]!] !== (pieces.get(key) ?? ''))
      say(index, `${WHOLE[kind]} is not what its pieces make: ${JSON.stringify(pieces.get(key))}`);
  }
  const last = events.at(-1);
  if (last?.type === 'response.completed') {
    for (const [at, item] of open) faults.push(`item ${item.type} at output_index ${at} was never done`);
    const told = [...done].sort(([one], [other]) => one - other).map(([, item]) => item);
    if (isWhole && !Bun.deepEquals(told, last.response.output))
      faults.push(`response.output is not what was told: ${JSON.stringify(last.response.output)}`);
  }
  return faults;
}
