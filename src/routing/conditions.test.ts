import { expect, test } from 'bun:test';
import { GatewayError } from '../core/errors.ts';
import { compileCondition } from './conditions.ts';

const faultOf = (query: unknown): string | null => {
  try {
    compileCondition(query, 'config.q');
    return null;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return error.message;
  }
};

test('patterns that would keep every other call waiting are refused', () => {
  expect(faultOf({ 'params.user': { $regex: '(a?){500}a{500}$' } })).toContain('too large a pattern');
  expect(faultOf({ 'params.user': { $regex: '(?i)^(gold|silver)-(eu|us|apac)-[0-9]{1,6}$' } })).toBe(null);
});

test('a config has only so many patterns, however they are nested', () => {
  const patterns = (count: number) => ({
    $or: Array.from({ length: count }, () => ({ 'params.user': { $regex: 'a' } })),
  });
  expect(faultOf({ $and: [patterns(10), patterns(10)] })).toBe(null);
  expect(faultOf({ $and: [patterns(10), patterns(11)] })).toContain('at most 20');
});

test('a text that is too long satisfies no pattern', () => {
  const holds = (text: string) =>
    compileCondition(
      { 'params.user': { $regex: 'needle' } },
      'q',
    )({ metadata: null, params: () => ({ user: text }), pathname: '/' });
  expect(holds(`${'x'.repeat(20_000)}needle`)).toBe(true);
  expect(holds(`needle${'x'.repeat(5_000_000)}`)).toBe(false);
});
