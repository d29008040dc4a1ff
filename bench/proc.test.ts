import { expect, test } from 'bun:test';
import { ActivitySum } from './proc.ts';

test('a thread that ends takes nothing of what the others did away, and one that begins counts from its beginning', () => {
  const sum = new ActivitySum(
    new Map([
      ['main', { cpuUs: 1_000, wakeUps: 10 }],
      ['compiler', { cpuUs: 90_000, wakeUps: 900 }],
    ]),
  );
  const middle = sum.look(
    new Map([
      ['main', { cpuUs: 1_100, wakeUps: 12 }],
      ['compiler', { cpuUs: 90_050, wakeUps: 901 }],
    ]),
  );
  expect(middle).toEqual({ cpuUs: 150, wakeUps: 3 });
  const end = sum.look(
    new Map([
      ['main', { cpuUs: 1_200, wakeUps: 14 }],
      ['another', { cpuUs: 30, wakeUps: 1 }],
    ]),
  );
  expect(end).toEqual({ cpuUs: 280, wakeUps: 6 });
});
