import { expect, test } from 'bun:test';
import { columnsOf, rowsOf } from './columns.ts';

interface Call {
  readonly id: string;
  readonly model: string | null;
  readonly tokens: number | null;
  readonly isStream: boolean;
}
const NAMES = ['id', 'model', 'tokens', 'isStream'] as const;
const call = (over: Partial<Call>): Call => ({ id: 'a', model: 'm', tokens: 1, isStream: false, ...over });

test('rows are the same again after their way by column, as text too', () => {
  const rows = [call({}), call({ id: 'b', model: null, tokens: 0 }), call({ id: 'c', isStream: true, tokens: null })];
  for (const some of [rows, rows.slice(0, 1), []]) {
    const columns = JSON.parse(JSON.stringify(columnsOf(some, NAMES)));
    expect(rowsOf<Call>(columns, NAMES, some.length)).toEqual(some);
  }
});

test('what all rows have in common is there once', () => {
  expect(columnsOf([call({ id: 'a' }), call({ id: 'b' })], NAMES)).toEqual([['a', 'b'], ['m'], [1], [false]]);
});
