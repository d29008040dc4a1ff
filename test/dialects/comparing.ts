import { GatewayError } from '../../src/core/errors.ts';
import type { ModelReply, ModelRequest, ReplyEvent } from '../../src/dialects/ir.ts';

/** Without what is no part of the meaning: where things stood, and what the client calls them. */
export function bare<Value extends ModelRequest | ModelReply>(value: Value): Value {
  return JSON.parse(JSON.stringify(value), function (this: unknown, name, member) {
    return (name === 'at' && typeof member === 'string') || name === 'origin' ? undefined : member;
  });
}

/** What a client is told that its request is at fault for: `param | message`. */
export function faultOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'invalid_request' && error.status === 400)
      return `${error.param} | ${error.message}`;
    throw error;
  }
  return 'no fault';
}

/** What is wrong with the order of events, by the rules that `ReplyEvent` states. Nothing is expected after an error. */
export function disorder(events: readonly ReplyEvent[]): string[] {
  const faults: string[] = [];
  const started = new Map<number, number>();
  const open = new Set<string>();
  const finished = new Set<number>();
  for (const [at, event] of events.entries()) {
    const fault = (what: string) => faults.push(`event ${at}, ${event.type}: ${what}`);
    if ((at === 0) !== (event.type === 'start') && event.type !== 'error')
      fault('start is the first event and only that');
    if (event.type === 'error') return at === events.length - 1 ? faults : [...faults, 'events after an error'];
    if (!('choice' in event)) continue;
    const { choice } = event;
    if (finished.has(choice)) fault('its choice has finished');
    if (event.type === 'finish') {
      finished.add(choice);
      for (const part of open) if (part.startsWith(`${choice}/`)) fault(`part ${part} was not ended`);
      continue;
    }
    const key = `${choice}/${event.index}`;
    if (event.type === 'part-start') {
      if (event.index !== (started.get(choice) ?? 0)) fault(`part ${key} starts out of order`);
      started.set(choice, event.index + 1);
      open.add(key);
    } else if (!open.has(key)) fault(`part ${key} is not open`);
    if (event.type === 'part-end') open.delete(key);
  }
  return faults;
}

/** Steps into, and cuts out, what a path such as `turns[0].parts[1].cache` names; list elements last. */
export function without<Value extends object>(value: Value, paths: readonly string[]): Value {
  const copy = structuredClone(value);
  for (const path of paths) {
    const steps = path.match(/[^.[\]]+/g) ?? [];
    let holder: Record<string, unknown> | undefined = copy as Record<string, unknown>;
    for (const step of steps.slice(0, -1)) holder = holder?.[step] as Record<string, unknown> | undefined;
    // A hole, so that the places of the others stay what they are.
    if (holder) delete holder[steps.at(-1)!];
  }
  return tidy(copy) as Value;
}

const HOLDERS = new Set(['ext', 'openai-chat', 'anthropic', 'responses', 'gemini', 'converse', 'cohere', 'reasoning']);

/** Closes holes, and removes objects of which nothing is left. */
function tidy(value: unknown, name = ''): unknown {
  if (Array.isArray(value)) {
    const items = Object.values(value).map((item) => tidy(item));
    return name === 'tools' && items.length === 0 ? undefined : items;
  }
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, member]) => [key, tidy(member, key)] as const);
  const kept = entries.filter(([, member]) => member !== undefined);
  return kept.length === 0 && HOLDERS.has(name) ? undefined : Object.fromEntries(kept);
}
