import { afterEach, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BodySegments, Share } from './body-segments.ts';

const folders: string[] = [];
const folder = () => {
  const made = mkdtempSync(join(tmpdir(), 'gateway-bodies-'));
  folders.push(made);
  return made;
};
afterEach(() => {
  for (const each of folders.splice(0)) rmSync(each, { recursive: true, force: true });
});

/** In two pieces, as a body that was partly moved comes. */
const body = (text: string) => [Buffer.from(text), Buffer.from(text.repeat(199))];
const textOf = (text: string) => text.repeat(200);
const texts = (segments: BodySegments, places: (string | null)[]) =>
  places.map((place) => (place === null ? null : Buffer.from(segments.read(place)!).toString()));

test('each body of a batch is found again, compressed or not, by this process and by the next', () => {
  const place = folder();
  let time = 0;
  // The second batch finds the share of the processor spent, and is stored as it is.
  const segments = new BodySegments(place, { now: () => (time += 60) });
  const first = segments.append([body('one'), null, body('two')]);
  const second = segments.append([body('three')]);
  const expected = [textOf('one'), null, textOf('two'), textOf('three')];
  expect(texts(segments, [...first, ...second])).toEqual(expected);
  segments.close();
  const next = new BodySegments(place);
  next.append([body('four')]);
  expect(texts(next, [...first, ...second])).toEqual(expected);
  expect(readdirSync(place)).toHaveLength(2);
});

test('of a large batch no more than some megabytes are read for one body', () => {
  const segments = new BodySegments(folder());
  const bodies = ['a', 'b', 'c', 'd', 'e'].map((letter) => [Buffer.alloc(1_500_000, letter)]);
  const huge = [Buffer.alloc(6_000_000, 'h')];
  const batch = [bodies[0]!, null, ...bodies.slice(1), huge, [Buffer.from('small')]];
  const places = segments.append(batch);
  const blocks = places.filter((place) => place !== null).map((place) => place.split(':').slice(0, 3).join(':'));
  expect(new Set(blocks).size).toBe(5);
  for (const [index, place] of places.entries()) {
    const expected = batch[index];
    if (!expected) expect(place).toBeNull();
    else expect(Buffer.from(segments.read(place!)!).equals(expected[0]!)).toBe(true);
  }
});

test('files whose last byte is too old go, the one that is written stays', () => {
  const place = folder();
  const old = new BodySegments(place);
  const [gone] = old.append([body('old')]);
  old.close();
  for (const file of readdirSync(place)) utimesSync(join(place, file), 1, 1);
  const segments = new BodySegments(place);
  const [kept] = segments.append([body('new')]);
  for (const file of readdirSync(place)) utimesSync(join(place, file), 1, 1);
  segments.prune(Date.now());
  expect(segments.read(gone!)).toBeNull();
  expect(Buffer.from(segments.read(kept!)!).toString()).toBe(textOf('new'));
});

test('a place beyond the end of a torn file is no body', () => {
  const segments = new BodySegments(folder());
  const [place] = segments.append([body('x')]);
  const [name] = place!.split(':');
  expect(segments.read(`${name}:1000000:10:0:10`)).toBeNull();
});

test('when there is more work than its share of the time allows, it is left undone for a while', () => {
  let time = 0;
  const share = new Share(() => time);
  const work = () => {
    time += 3;
    return 'done';
  };
  expect([share.spend(work), share.spend(work), share.spend(work)]).toEqual(['done', 'done', null]);
  time += 1_900;
  expect(share.spend(work)).toBeNull();
  time += 100;
  expect(share.spend(work)).toBe('done');
});

test('work that fits into its share is always done', () => {
  let time = 0;
  const share = new Share(() => time);
  const work = () => {
    time += 2;
    return 'done';
  };
  for (let round = 0; round < 100; round++) {
    expect([share.spend(work), share.spend(work)]).toEqual(['done', 'done']);
    time += 100;
  }
});

test('a body is erased where it lies, whether its block is compressed or not; those beside it and the age of the file stay', () => {
  const place = folder();
  let time = 0;
  const segments = new BodySegments(place, { now: () => (time += 60) });
  const noise = (seed: number) => [Buffer.from(sha512s(seed))];
  const packed = segments.append([noise(1), noise(2), body('two'), noise(3)]) as string[];
  const plain = segments.append([body('three'), body('secret three'), body('last')]) as string[];
  const [file] = readdirSync(place).map((name) => join(place, name));
  utimesSync(file!, 1_000, 1_000);
  const bytes = statSync(file!).size;

  // One after the other, as the steps of an erasure do, the first of them twice.
  for (const gone of [[packed[0]!], [packed[0]!], [packed[3]!, plain[1]!]]) expect(segments.erase(gone)).toEqual([]);
  expect([packed[0], packed[3], plain[1]].map((gone) => segments.read(gone!))).toEqual([null, null, null]);
  expect(texts(segments, [packed[2]!, plain[0]!])).toEqual([textOf('two'), textOf('three')]);
  expect(Buffer.from(segments.read(packed[1]!)!).equals(noise(2)[0]!)).toBe(true);
  expect([statSync(file!).size, statSync(file!).mtimeMs]).toEqual([bytes, 1_000_000]);
  expect(readFileSync(file!).includes('secret three')).toBe(false);

  segments.erase([plain[0]!]);
  expect(texts(segments, [plain[2]!])).toEqual([textOf('last')]);
  segments.erase([...packed, ...plain]);
  expect(readFileSync(file!).every((byte) => byte === 0)).toBe(true);
  // The file that is written goes on behind them.
  expect(texts(segments, segments.append([body('four')]))).toEqual([textOf('four')]);
});

test('a block that what is left of it does not fit into is named, so that it can be moved', () => {
  const segments = new BodySegments(folder());
  const [first, second] = segments.append([body('a'), body('b')]) as [string, string];
  const [crowded, ...rest] = segments.erase([first]);
  expect([crowded, rest]).toEqual([first.split(':', 3).join(':'), []]);
  expect(texts(segments, [second])).toEqual([textOf('b')]);
  segments.blank(crowded!);
  expect([segments.read(first), segments.read(second)]).toEqual([null, null]);
});

/** Bytes that cannot be compressed. */
const sha512s = (seed: number): Buffer =>
  Buffer.concat(
    Array.from({ length: 40 }, (_, index) =>
      Buffer.from(new Bun.SHA512().update(`${seed} ${index}`).digest('hex'), 'hex'),
    ),
  );
