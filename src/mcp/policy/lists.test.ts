import { describe, expect, test } from 'bun:test';
import { type Capability, capabilityOf } from '../message/capability.ts';
import { Ambiguous } from '../message/strict-json.ts';
import { filterLists } from './lists.ts';

const without =
  (...names: string[]) =>
  ({ name }: Capability) =>
    !names.includes(name);

const LISTS = {
  tools: ['name', (name: string) => ({ name, inputSchema: { type: 'object' } })],
  prompts: ['name', (name: string) => ({ name })],
  resources: ['uri', (uri: string) => ({ uri, name: 'x' })],
  resourceTemplates: ['uriTemplate', (uriTemplate: string) => ({ uriTemplate, name: 'x' })],
} as const;

describe('what may not be seen is gone from a list, and the rest stays', () => {
  for (const [list, [, make]] of Object.entries(LISTS)) {
    test(list, () => {
      const message = {
        jsonrpc: '2.0',
        id: 1,
        result: { [list]: ['a', 'b', 'c'].map(make), nextCursor: 'next', _meta: { tools: ['a'] } },
      };
      const found = filterLists(JSON.stringify(message), without('a', 'c'))!;
      expect(JSON.parse(found.text)).toEqual({ ...message, result: { ...message.result, [list]: [make('b')] } });
      expect(found.seen.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
    });
  }

  test('byte for byte', () => {
    const text =
      '{ "result" : {"nextCursor":"x", "tools":[ {"name":"a"} ,\n {"name":"b", "x":12345678901234567890, "y":1.0} ] },"id":1.10 }\n';
    expect(filterLists(text, without())!.text).toBe(text);
    expect(filterLists(text, without('a'))!.text).toBe(
      '{ "result" : {"nextCursor":"x", "tools":[{"name":"b", "x":12345678901234567890, "y":1.0}] },"id":1.10 }\n',
    );
    expect(filterLists(text, without('a', 'b'))!.text).toBe(
      '{ "result" : {"nextCursor":"x", "tools":[] },"id":1.10 }\n',
    );
  });

  test('whatever stands in it: every subset of odd names', () => {
    const names = ['', 'a', 'a"b', 'ü\u0000', '\ud83d', '{"name":"a"}', '],[', '__proto__', 'a'];
    const tools = names.map((name, index) => ({ index, name, text: '"tools":[{"name":"a"}]' }));
    const text = JSON.stringify({ id: 1, result: { tools } });
    for (let mask = 0; mask < 1 << names.length; mask += 7) {
      const kept = tools.filter(
        ({ name }, index) => capabilityOf('tools', tools[index]) !== null && !(mask & (1 << names.indexOf(name))),
      );
      const shows = ({ name }: Capability) => !(mask & (1 << names.indexOf(name)));
      expect(JSON.parse(filterLists(text, shows)!.text)).toEqual({ id: 1, result: { tools: kept } });
    }
  });

  test('in every message of a batch', () => {
    const batch = JSON.stringify([
      { id: 1, result: { tools: [{ name: 'a' }, { name: 'b' }] } },
      { method: 'notifications/x' },
      { id: 2, result: { prompts: [{ name: 'a' }] } },
    ]);
    expect(JSON.parse(filterLists(batch, without('a'))!.text)).toEqual([
      { id: 1, result: { tools: [{ name: 'b' }] } },
      { method: 'notifications/x' },
      { id: 2, result: { prompts: [] } },
    ]);
  });
});

test('a list that others may keep is for one caller alone after this', () => {
  const text = '{"id":1,"result":{"cacheScope":"public","ttlMs":5,"tools":[{"name":"a"}]}}';
  expect(filterLists(text, without())!.text).toBe(text.replace('public', 'private'));
});

test('what is no list is not touched', () => {
  for (const text of [
    '{"id":1,"result":{"content":[{"type":"text","text":"tools"}],"structuredContent":{"tools":[{"name":"a"}]}}}',
    '{"id":1,"error":{"code":1}}',
    '{"method":"notifications/tools/list_changed"}',
    '{"id":1,"result":{"tools":"all"}}',
    '7',
    '[]',
  ])
    expect(filterLists(text, without('a'))).toBeNull();
});

test('a list that could be read in two ways is refused', () => {
  for (const text of [
    '{"id":1,"result":{"tools":[]},"result":{"tools":[{"name":"a"}]}}',
    '{"id":1,"result":{"tools":[{"name":"a"}],"tools":[]}}',
    '{"id":1,"result":{"tools":[{"name":"a"}]',
  ])
    expect(() => filterLists(text, without('a'))).toThrow(Ambiguous);
});
