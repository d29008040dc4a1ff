import { expect, test } from 'bun:test';
import { columnsOf, rowsOf } from './columns.ts';
import { LOG_COLUMNS } from './log-columns.ts';
import { row as logRow } from './test-log.ts';

const model = LOG_COLUMNS.indexOf('model');

test('rows are the same again after their way by column, as text too', () => {
  const rows = [logRow({ id: 'a' }), logRow({ id: 'b', model: null, cost: 0 }), logRow({ id: 'c', is_stream: true })];
  for (const some of [rows, rows.slice(0, 1), []]) {
    const columns = JSON.parse(JSON.stringify(columnsOf(some)));
    expect(rowsOf(columns, some.length)).toEqual(some);
  }
});

test('what all rows have in common is there once', () => {
  expect(columnsOf([logRow({ model: 'm' }), logRow({ model: 'm' })])[model]).toEqual(['m']);
  expect(columnsOf([logRow({ model: 'm' }), logRow({ model: 'n' })])[model]).toEqual(['m', 'n']);
});
