import { expect, test } from 'bun:test';
import { endsInFailure } from './stream-failure.ts';

const ends = (text: string, type = 'text/event-stream') => endsInFailure(type, new TextEncoder().encode(text));
const data = (...events: unknown[]) =>
  events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join('');
const chunk = { choices: [{ index: 0, delta: { content: 'The "error" is {"error":{}}, event: error' } }] };

for (const [name, text] of Object.entries({
  'a chat chunk with an error': data(chunk, { error: { message: 'x', code: 'server_error' } }),
  'the same with the mark of the end behind it': data(chunk, { error: { message: 'x' } }, '[DONE]'),
  'an error that is a text': data({ error: 'overloaded' }),
  "Anthropic's error event": `${data(chunk)}event: error\ndata: {"type":"error","error":{"type":"overloaded_error"}}\n\n`,
  'an error event with other line ends': 'event: error\r\ndata: {}\r\n\r\n',
  'a response that failed': `event: response.failed\n${data({ type: 'response.failed', response: {} })}`,
  'an error whose end is missing': `${data(chunk)}data: {"error":{"message":"x"}}`,
}))
  test(`${name} is a failure`, () => expect(ends(text)).toBe(true));

for (const [name, text] of Object.entries({
  'text that speaks of errors': data(chunk, '[DONE]'),
  'an error that is null': data({ error: null, choices: [] }),
  'a response that was completed': data({ type: 'response.completed', response: { error: null } }),
  'an error long before the end': data({ error: { message: 'x' } }, ...Array(5).fill(chunk)),
  'nothing at all': '',
  'what is cut in the middle': 'or":{"message":"error"}}\n\ndata: {"x":1}\n\n',
}))
  test(`${name} is none`, () => expect(ends(text)).toBe(false));

test('frames of AWS tell it in a header', () => {
  const type = 'application/vnd.amazon.eventstream';
  expect(ends('\x00\x0f:exception-type\x07\x00\x13throttlingException', type)).toBe(true);
  expect(ends('\x00\x0b:event-type\x07\x00\x08metadata{"text":"error"}', type)).toBe(false);
});
