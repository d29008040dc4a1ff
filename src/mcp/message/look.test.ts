import { expect, test } from 'bun:test';
import { isRepeatable, lookAt } from './look.ts';

const bytes = (value: unknown) => Buffer.from(JSON.stringify(value));

test('method and name are found in the body, whatever the headers say', () => {
  const body = bytes({ params: { arguments: { name: 'inner' }, name: 'delete_all' }, method: 'tools/call', id: 1 });

  expect(lookAt(body, { 'mcp-method': 'tools/list', 'mcp-name': 'safe' })).toEqual({
    method: 'tools/call',
    name: 'delete_all',
  });
  expect(lookAt(bytes({ method: 'resources/read', params: { uri: 'test://a' } }), {})).toEqual({
    method: 'resources/read',
    name: 'test://a',
  });
});

test('without a body at hand the headers are all there is', () => {
  expect(lookAt(null, { 'mcp-method': 'tools/call', 'mcp-name': 'echo' })).toEqual({
    method: 'tools/call',
    name: 'echo',
  });
  expect(lookAt(null, {})).toEqual({ method: null, name: null });
});

test('what is no message has neither', () => {
  for (const text of ['', '[', '[{"method":"tools/call"}]', '{"method":5}', '{"method"', 'null', '{"method":"a\\'])
    expect(lookAt(Buffer.from(text), {}).method).toBeNull();
});

test('only questions may be asked twice', () => {
  expect(isRepeatable({ method: 'tools/list', name: null })).toBe(true);
  for (const method of ['tools/call', 'resources/read', 'prompts/get', 'anything', null])
    expect(isRepeatable({ method, name: null })).toBe(false);
});
