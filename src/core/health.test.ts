import { expect, test } from 'bun:test';
import { createHealth } from './health.ts';

test('a part is degraded from its first word until it is well', () => {
  let time = Date.parse('2030-01-01T00:00:00Z');
  const health = createHealth({ now: () => time });
  expect(health.snapshot()).toEqual([]);

  health.degraded('store', 'Nothing can be changed.');
  time += 5_000;
  health.degraded('store', 'Still nothing can be changed.');
  health.degraded('log', 'Entries wait.');

  expect(health.snapshot()).toEqual([
    { part: 'store', since: '2030-01-01T00:00:00.000Z', effect: 'Still nothing can be changed.' },
    { part: 'log', since: '2030-01-01T00:00:05.000Z', effect: 'Entries wait.' },
  ]);

  health.well('store');
  health.well('redis');
  expect(health.snapshot().map(({ part }) => part)).toEqual(['log']);
  health.degraded('store', 'Again.');
  expect(health.snapshot()[1]?.since).toBe('2030-01-01T00:00:05.000Z');
});
