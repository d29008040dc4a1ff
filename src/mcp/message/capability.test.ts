import { describe, expect, test } from 'bun:test';
import { capabilityOf, pinStatus } from './capability.ts';
import { Ambiguous } from './strict-json.ts';

const tool = { name: 'a', description: 'Says hello', inputSchema: { type: 'object', properties: { b: {}, a: {} } } };
const hashOf = (element: unknown) => capabilityOf('tools', element)!.hash;

test('a definition has the same hash in whatever order its members stand', () => {
  const other = { inputSchema: { properties: { a: {}, b: {} }, type: 'object' }, description: 'Says hello', name: 'a' };
  expect(hashOf(other)).toBe(hashOf(tool));
});

describe('a definition has another hash when it says something else', () => {
  for (const [member, value] of Object.entries({
    name: 'b',
    title: 'A title',
    description: 'Says hello and reads your mail',
    inputSchema: { type: 'object', properties: { b: {}, a: { description: 'your password' } } },
    outputSchema: { type: 'object' },
    annotations: { readOnlyHint: true },
    _meta: { 'openai/outputTemplate': 'ui://widget.html' },
    icons: [{ src: 'https://evil.example/pixel.png' }],
    execution: { taskSupport: 'required' },
    securitySchemes: [{ type: 'noauth' }],
    Description: 'Read by a careless client',
    'a member of tomorrow': 1,
  }))
    test(member, () => expect(hashOf({ ...tool, [member]: value })).not.toBe(hashOf(tool)));
});

describe('what nobody sees is flagged', () => {
  const hidden = [
    '\u200b',
    '\u200d',
    '\u2060',
    '\ufeff',
    '\u202e',
    '\u2066',
    '\u{e0041}',
    '\u{e0101}',
    '\ufe01\ufe02',
    '\u00ad',
  ];
  for (const text of hidden) {
    test(JSON.stringify(text), () => {
      expect(capabilityOf('tools', { ...tool, description: `Says ${text}hello` })!.flags).toEqual(['hidden_unicode']);
      expect(capabilityOf('tools', { ...tool, inputSchema: { [`a${text}`]: 1 } })!.flags).toEqual(['hidden_unicode']);
      expect(capabilityOf('tools', { ...tool, name: `a${text}` })!.flags).toEqual(['hidden_unicode']);
    });
  }

  test('but pictographs and other scripts are seen', () => {
    for (const text of ['👩‍💻', '🏳️‍🌈', '👍🏽', 'größer', '日本語', 'שלום', 'مرحبا', 'हिन्दी', '☑️'])
      expect(capabilityOf('tools', { ...tool, description: text })!.flags).toEqual([]);
  });

  test('and so is what nobody reads', () => {
    expect(capabilityOf('tools', { ...tool, description: 'x'.repeat(4_001) })!.flags).toEqual(['overlong']);
    expect(capabilityOf('tools', { ...tool, inputSchema: { x: 'y'.repeat(40_000) } })!.flags).toEqual(['overlong']);
  });
});

test('what is nested deeper than anybody could look is refused', () => {
  const deep = (levels: number): unknown => JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`);
  expect(capabilityOf('tools', { ...tool, inputSchema: deep(50) })).not.toBeNull();
  for (const levels of [101, 50_000])
    expect(() => capabilityOf('tools', { ...tool, inputSchema: deep(levels) })).toThrow(Ambiguous);
});

test('what has no name is nothing', () => {
  for (const element of [null, 7, 'a', [], {}, { name: 7 }, { name: '' }, { name: 'a\0' }, { name: 'x'.repeat(3_000) }])
    expect(capabilityOf('tools', element)).toBeNull();
});

test('a definition is approved as it was seen, or waits', () => {
  expect(pinStatus({ hash: 'a', approvedHash: 'a' })).toBe('approved');
  expect(pinStatus({ hash: 'b', approvedHash: 'a' })).toBe('changed');
  expect(pinStatus({ hash: 'a', approvedHash: null })).toBe('pending');
});
