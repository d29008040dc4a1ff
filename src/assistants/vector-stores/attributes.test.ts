import { expect, test } from 'bun:test';
import { attributesRule } from './attributes.ts';

test('a value that cannot even be written as text is refused like any other that is none', () => {
  for (const json of ['{"a":{"toString":1,"valueOf":1}}', '{"a":[{"toString":null}]}', '{"a":null}', '{"a":[]}']) {
    const { error } = attributesRule().safeParse(JSON.parse(json));
    expect(error?.issues).toMatchObject([{ path: ['a'], message: 'a value is a text, a number or a boolean' }]);
  }
});

test('half a character is refused in a key and in a text', () => {
  for (const json of ['{"a":"\\ud800"}', '{"\\udc00":1}'])
    expect(attributesRule().safeParse(JSON.parse(json)).error?.issues[0]?.message).toBe('it holds half a character');
});

test('texts, numbers and booleans are taken as they are', () => {
  const attributes = JSON.parse('{"a":"x","b":1.5,"c":false,"__proto__":"kept"}');
  expect(attributesRule().safeParse(attributes).data).toBe(attributes);
});
