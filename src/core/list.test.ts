import { describe, expect, test } from 'bun:test';
import { type Bounds, type ListQuery, type ListSource, listPage, listQuery } from './list.ts';
import { newObjectId } from './object-ids.ts';

const ids: string[] = Array.from({ length: 10 }, () => newObjectId('message'));

/** A list in memory; what is deleted stays known. */
function source(deleted: readonly string[] = []): ListSource<{ id: string }> {
  return {
    has: async (id) => ids.includes(id),
    between: async ({ above = '', below = '~', sort, limit }: Bounds) => {
      const rows = ids.filter((id) => id > above && id < below && !deleted.includes(id)).map((id) => ({ id }));
      return (sort === 'asc' ? rows : rows.reverse()).slice(0, limit);
    },
  };
}

const pageOf = async (query: Partial<ListQuery>, from = source()) => {
  const page = await listPage({ limit: 20, order: 'desc', ...query }, 'message', from);
  return { ...page, data: page.data.map(({ id }) => ids.indexOf(id)) };
};

test('the newest come first, with the ids of both ends', async () => {
  expect(await pageOf({ limit: 3 })).toEqual({
    object: 'list',
    data: [9, 8, 7],
    first_id: ids[9]!,
    last_id: ids[7]!,
    has_more: true,
  });
});

describe('a page', () => {
  for (const [name, query, data, hasMore] of [
    ['in ascending order', { order: 'asc', limit: 2 }, [0, 1], true],
    ['after an element, in descending order', { after: ids[5], limit: 2 }, [4, 3], true],
    ['after an element, in ascending order', { order: 'asc', after: ids[7] }, [8, 9], false],
    ['before an element, in descending order', { before: ids[5], limit: 2 }, [7, 6], true],
    ['before an element, in ascending order', { order: 'asc', before: ids[2] }, [0, 1], false],
    ['between two elements, from the first of them', { after: ids[8], before: ids[2], limit: 2 }, [7, 6], true],
    ['between two elements, whole', { order: 'asc', after: ids[3], before: ids[6] }, [4, 5], false],
    ['that is exactly full', { limit: 10 }, [9, 8, 7, 6, 5, 4, 3, 2, 1, 0], false],
    ['behind the last element', { after: ids[0] }, [], false],
    ['between elements that stand the other way round', { after: ids[2], before: ids[8] }, [], false],
  ] as [string, Partial<ListQuery>, number[], boolean][]) {
    test(name, async () => {
      expect(await pageOf(query)).toMatchObject({ data, has_more: hasMore });
    });
  }
});

test('walking in either order, by pages of any size, meets every element once', async () => {
  for (const order of ['asc', 'desc'] as const) {
    for (const limit of [1, 2, 3, 7, 10, 11]) {
      const met: number[] = [];
      let page = await pageOf({ order, limit });
      met.push(...page.data);
      while (page.has_more) {
        page = await pageOf({ order, limit, after: page.last_id });
        met.push(...page.data);
      }
      const all = ids.map((_, index) => index);
      expect(met).toEqual(order === 'asc' ? all : all.reverse());
    }
  }
});

test('an element that is deleted still marks its place', async () => {
  expect(await pageOf({ after: ids[5], limit: 2 }, source([ids[5]!, ids[4]!]))).toMatchObject({ data: [3, 2] });
});

test('an empty page has empty ids', async () => {
  expect(await pageOf({ after: ids[0] })).toMatchObject({ first_id: '', last_id: '', has_more: false });
});

test('a cursor of another kind, and one that nobody knows, are refused and named', async () => {
  const foreign = await pageOf({ after: 'thread_abc' }).catch((error) => error);
  expect(foreign.body().error).toEqual({
    message: "Invalid 'after': 'thread_abc'. Expected an ID that begins with 'msg'.",
    type: 'invalid_request_error',
    param: 'after',
    code: 'invalid_value',
  });
  const unknown = await pageOf({ before: 'msg_abc' }).catch((error) => error);
  expect([unknown.status, unknown.body().error]).toEqual([
    404,
    { message: 'Resource not found.', type: 'invalid_request_error', param: 'before', code: null },
  ]);
});

test('the query has defaults, and an empty cursor is none', () => {
  expect(listQuery().parse({})).toEqual({ limit: 20, order: 'desc' });
  expect(listQuery({ most: 10_000, usual: 10_000 }).parse({ after: '', limit: '7', order: 'asc' })).toEqual({
    limit: 7,
    order: 'asc',
    after: undefined,
  });
  for (const limit of ['0', '101', '1.5', '1e1', ' 5', '0x5', '', 'ten'])
    expect(listQuery().safeParse({ limit }).success).toBe(false);
});
