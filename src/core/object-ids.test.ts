import { expect, test } from 'bun:test';
import { isObjectId, newObjectId, type ObjectKind, objectIdAt, PREFIXES, sortBehind } from './object-ids.ts';

test('an id is the prefix of its kind and 24 letters and digits', () => {
  for (const kind of Object.keys(PREFIXES) as ObjectKind[]) {
    const id = newObjectId(kind);
    expect(id.slice(0, -24)).toBe(PREFIXES[kind]);
    expect(id.slice(-24)).toMatch(/^[0-9A-Za-z]{24}$/);
    expect(isObjectId(kind, id)).toBe(true);
  }
  expect(isObjectId('file', newObjectId('upload'))).toBe(false);
});

test('bytes of ids sort in the order they were made, within a millisecond and when the clock steps back', () => {
  const now = Date.now() + 60_000;
  const ids = [now, now, now + 1, now - 5_000, now + 1, now + 2].flatMap((at) =>
    Array.from({ length: 500 }, () => newObjectId('message', at)),
  );

  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))).toEqual(ids);
});

test('more ids than one millisecond has room for still sort', () => {
  const at = Date.now() + 120_000;
  let last = newObjectId('file', at);
  let isSorted = true;
  for (let made = 0; made < 240_000; made++) {
    const next = newObjectId('file', at);
    isSorted &&= next > last;
    last = next;
  }
  expect(isSorted).toBe(true);
});

test('an id that another node made is followed by ours, even if its clock is ahead; nonsense is not', () => {
  const ahead = Date.now() + 600_000;
  const theirs = objectIdAt('message', ahead, 17);

  sortBehind(theirs);
  expect(newObjectId('message') > theirs).toBe(true);
  expect(newObjectId('step').slice(5) > theirs.slice(4)).toBe(true);

  for (const odd of ['', 'msg_', 'msg_zzzzzzzzzzzzzzzzzzzzzzzz', 'msg_!!!!!!!!000000000000000', 'thread_abc123'])
    sortBehind(odd);
  expect(newObjectId('message') < objectIdAt('message', ahead + 1_000, 0)).toBe(true);
});
