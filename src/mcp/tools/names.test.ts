import { describe, expect, test } from 'bun:test';
import { exposedName, exposedUri, plainName, plainUri } from './names.ts';

test('a tool is called by its server and its name', () => {
  expect(exposedName('weather', 'forecast')).toBe('weather__forecast');
  expect(plainName('weather__forecast', ['weather'])).toEqual({
    slug: 'weather',
    name: 'forecast',
    isDoubtful: false,
  });
});

describe('a name that cannot stand as it is', () => {
  test('is cut to 64 characters, always to the same, and to another than its neighbours', () => {
    const [one, other] = ['x', 'y'].map((end) => exposedName('weather', `${'long_'.repeat(20)}${end}`));
    expect(one).toHaveLength(64);
    expect(one).toBe(exposedName('weather', `${'long_'.repeat(20)}x`));
    expect(one).toMatch(/^weather__long_.*-[a-z2-7]{6}$/);
    expect(other).not.toBe(one);
  });

  const alike: [string, string, string, string][] = [
    ['a', 'b__c', 'a__b', 'c'],
    ['a', '_x', 'a_', 'x'],
    ['a__b', 'c', 'a__b__c', ''],
  ];
  for (const [slug, name, otherSlug, otherName] of alike)
    test(`"${slug}" with "${name}" is not "${otherSlug}" with "${otherName}"`, () => {
      expect(exposedName(slug, name)).not.toBe(exposedName(otherSlug, otherName));
    });

  test('is not taken apart by a server that was named to catch it', () => {
    const name = exposedName('a__b', 'c');
    expect(plainName(name, ['a__b'])).toBeNull();
    expect(plainName(name, ['a', 'a__b'])).toMatchObject({ slug: 'a', isDoubtful: true });
  });

  test('holds what models are given, and stays apart from its neighbours', () => {
    const names = ['a.b', 'a/b', 'a_b', 'a b', 'ä', '🌦'.repeat(60)].map((name) => exposedName('s', name));
    for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(new Set(names).size).toBe(names.length);
    expect(names[0]).toMatch(/^s__a_b-[a-z2-7]{6}$/);
  });
});

test('any two of many odd names stay apart', () => {
  const parts = ['a', 'b', '_', '__', 'a_', '_a', 'ab', '-', 'x'.repeat(60), 'x'.repeat(61), 'x'.repeat(64)];
  const seen = new Map<string, string>();
  for (const slug of parts)
    for (const first of parts)
      for (const second of parts) {
        const key = JSON.stringify([slug, first + second]);
        const exposed = exposedName(slug, first + second);
        expect(exposed.length).toBeLessThanOrEqual(64);
        expect(seen.get(exposed) ?? key).toBe(key);
        seen.set(exposed, key);
      }
});

test("names that are nobody's are nothing", () => {
  for (const name of ['', 'weather', 'weather__', '__x', 'other__x', 'weather_x'])
    expect(plainName(name, ['weather'])).toBeNull();
});

test('the address of a resource follows its server', () => {
  const uri = exposedUri('notes', 'file:///a/b?c#d');
  expect(uri).toBe('mcp://notes/file:///a/b?c#d');
  expect(plainUri(uri)).toEqual({ slug: 'notes', uri: 'file:///a/b?c#d' });
  expect(plainUri('file:///a')).toBeNull();
  expect(plainUri('mcp://notes')).toBeNull();
});
