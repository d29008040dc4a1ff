import { SseParser } from '../../src/dialects/sse.ts';
import { schemaOf } from './schemas.ts';

export interface StreamEvent {
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: the schemas have looked at it
  readonly data: any;
  readonly id?: string;
}

/** The events of a stream that was read to its end, each fit for its schema; `done` is checked and left out. */
export function eventsIn(text: string): StreamEvent[] {
  const parser = new SseParser();
  const events = [...parser.push(Buffer.from(text)), ...parser.end()];
  const last = events.pop();
  if (last?.event !== 'done' || last.data !== '[DONE]')
    throw new Error(`The stream ends with ${last?.event} ${last?.data}`);
  return events.map(({ event = '', data, id }) => ({ event, id, data: checkedData(event, JSON.parse(data)) }));
}

function checkedData(event: string, data: unknown) {
  const result = schemaOf(event).safeParse(data);
  if (!result.success) throw new Error(`${event}: ${result.error.message}\n${JSON.stringify(data)}`);
  return data;
}

const FINAL = /^thread\.run\.(completed|incomplete|failed|expired|cancelled|requires_action)$/;

/**
 * Follows the grammar of a run's stream and throws at the first event that does not fit:
 *
 *     stream(create) := [thread.created] run.created run.queued run.in_progress turn* end
 *     stream(submit) := step.completed run.queued run.in_progress turn* end
 */
export function checkGrammar(events: readonly StreamEvent[], kind: 'create' | 'create-thread' | 'submit'): void {
  const names = events.map(({ event }) => event.replace(/^thread\./, ''));
  let at = 0;
  const fault = (why: string): never => {
    throw new Error(`${why} at event ${at} (${names[at]}) of ${names.join(' ')}`);
  };
  const take = (...expected: string[]): StreamEvent => {
    if (!expected.includes(names[at]!)) fault(`expected ${expected.join(' or ')}`);
    return events[at++]!;
  };
  if (kind === 'create-thread') take('created');
  if (kind === 'submit') take('run.step.completed');
  else take('run.created');
  take('run.queued');
  // A run that no node began ends where it stands.
  if (names[at] === 'run.in_progress') {
    take('run.in_progress');
    while (names[at] === 'run.step.created') turn();
  }
  if (names[at] === 'run.cancelling') take('run.cancelling');
  if (!FINAL.test(`thread.${names[at]}`)) fault('expected the end of the run');
  if (at !== names.length - 1) fault('expected nothing more');

  function turn() {
    const { data } = take('run.step.created');
    const same = (event: StreamEvent) => (event.data.id === data.id ? event : fault('another step'));
    same(take('run.step.in_progress'));
    if (data.type === 'message_creation') message(data.step_details.message_creation.message_id);
    else while (names[at] === 'run.step.delta') same(take('run.step.delta'));
    // A function's step is open when the client is asked.
    if (names[at] === 'run.requires_action') return;
    same(take('run.step.completed', 'run.step.failed', 'run.step.cancelled', 'run.step.expired'));
  }

  function message(id: string) {
    const same = (event: StreamEvent) => (event.data.id === id ? event : fault('another message'));
    const created = same(take('message.created'));
    if (created.data.content.length > 0) fault('a new message has content');
    same(take('message.in_progress'));
    let text = '';
    while (names[at] === 'message.delta') {
      for (const block of same(take('message.delta')).data.delta.content) text += block.text?.value ?? block.refusal;
    }
    const last = same(take('message.completed', 'message.incomplete'));
    const said = last.data.content.map((block: StreamEvent['data']) => block.text?.value ?? block.refusal).join('');
    if (said !== text) fault(`the message says "${said}", its pieces "${text}"`);
  }
}
