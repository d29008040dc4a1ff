import { expect, test } from 'bun:test';
import { fuzzGateway } from '../fuzz.ts';

test('3,000 malformed requests get answers in our shape or none, and leave the gateway as it was', async () => {
  const { faults, errors, growth, isWell } = await fuzzGateway({ seed: 1, cases: 3_000 });

  expect(faults).toEqual([]);
  expect(errors).toBe('');
  expect(isWell).toBe(true);
  expect(growth).toBeLessThan(150);
});
