import { expect, test } from 'bun:test';
import { area } from './area.ts';
import { noAreas } from './areas.ts';

const given = () => {
  const told: string[] = [];
  const telling = <Needs, Gives extends object>(name: string, gives: (parts: Needs) => Gives) =>
    area({
      name,
      open: async (parts: Needs) => {
        told.push(`open ${name}`);
        return { gives: gives(parts), close: () => void told.push(`close ${name}`) };
      },
    });
  const store = telling('store', (_: object) => ({ rows: 2 }));
  const news = telling('news', (_: object) => ({ tell: (text: string) => void told.push(text) }));
  const jobs = telling('jobs', ({ rows, tell }: { rows: number; tell?: (text: string) => void }) => {
    tell?.(`${rows} rows`);
    return { jobs: rows * 2 };
  });
  return { told, areas: noAreas<object>().with(store).withOptional(news).with(jobs), failing: telling };
};

test('areas open in order with what those before them gave, and close in reverse', async () => {
  const { told, areas } = given();
  const { parts, close } = await areas.open({});
  expect(parts.jobs).toBe(4);
  await close();
  expect(told).toEqual(['open store', 'open news', 'open jobs', '2 rows', 'close jobs', 'close news', 'close store']);
});

test('an optional area that is left out gives nothing, and those after it do without', async () => {
  const { told, areas } = given();
  const { parts } = await areas.without('news').open({});
  expect(parts).toEqual({ rows: 2, jobs: 4 });
  expect(parts.tell).toBeUndefined();
  expect(told).toEqual(['open store', 'open jobs']);
});

test('when an area cannot open, those that are open are closed', async () => {
  const { told, areas, failing } = given();
  const broken = failing('broken', () => {
    throw new Error('no disk');
  });
  await expect(areas.without('news').with(broken).open({})).rejects.toThrow('no disk');
  expect(told.slice(2)).toEqual(['open broken', 'close jobs', 'close store']);
});

test('a list in which something is needed that nobody before gives does not compile', () => {
  const { areas, failing } = given();
  const later = failing('later', ({ missing }: { missing: string }) => ({ missing }));
  // @ts-expect-error Property 'missing' is missing.
  areas.with(later);
  const certain = failing('certain', ({ tell }: { tell: (text: string) => void }) => ({ tell }));
  // @ts-expect-error What an optional area gives may be missing.
  areas.with(certain);
});
