import { expect, test } from 'bun:test';
import { countsIn, testsIn, worthAnotherTry } from './outcome.ts';

const line = (result: 'pass' | 'fail', name: string) => `(${result}) ${name} [12.50ms]`;
const printed = (...failed: string[]) =>
  [
    ...['bun test v1', '', 'test/one.test.ts:', line('pass', 'one holds'), ''],
    ...[
      'src/two.test.ts:',
      'error: expected 1',
      ...failed.map((name) => line('fail', name)),
      line('pass', 'two holds'),
    ],
    ...['', `${failed.length} tests failed:`, ...failed.map((name) => line('fail', name))],
    ...['', ' 2 pass', ` ${failed.length} fail`, ' 7 expect() calls', ''],
  ].join('\n');

test('what ran is known by its file, once', () => {
  expect(testsIn(printed('it breaks'))).toEqual([
    { file: 'test/one.test.ts', name: 'one holds', isGood: true, ms: 12.5 },
    { file: 'src/two.test.ts', name: 'it breaks', isGood: false, ms: 12.5 },
    { file: 'src/two.test.ts', name: 'two holds', isGood: true, ms: 12.5 },
  ]);
  expect(countsIn(printed('it breaks'))).toEqual({ passed: 2, failed: 1, errors: 0 });
  expect(countsIn('types: fine')).toBeNull();
  // What a page said that a test left open.
  expect(countsIn(`errors: 3\n10 errors\n9 fail\n${printed('it breaks')}`)).toEqual({
    passed: 2,
    failed: 1,
    errors: 0,
  });
});

test('a few failures are worth another try', () => {
  expect(worthAnotherTry(printed('it breaks')).map(({ file }) => file)).toEqual(['src/two.test.ts']);
});

test('many failures, errors outside of tests, and failures of nobody knows what are not', () => {
  expect(worthAnotherTry(printed('1', '2', '3', '4', '5', '6'))).toEqual([]);
  expect(worthAnotherTry(`${printed('it breaks')} 1 error\n`)).toEqual([]);
  expect(worthAnotherTry(printed('it breaks').replace(' 1 fail', ' 2 fail'))).toEqual([]);
  expect(worthAnotherTry(' 5 pass\n 0 fail\n')).toEqual([]);
});
