import { expect, test } from 'bun:test';
import { scoreOf } from './conformance-score.ts';

const REPORT = `
=== SUMMARY ===
✓ ping: 2 passed, 0 failed
✗ tools-list: 1 passed, 1 failed
✓ caching: 1 passed, 0 failed

Total: 4 passed, 1 failed

Not scored for 2026-07-28: 1 scenario(s) run, 0 failing. These do not affect conformance.
  ✓ caching (extension)
`;

test('a report is read whole, with what is not required counted apart', () => {
  expect(scoreOf(REPORT)).toEqual({
    passed: ['ping'],
    failed: ['tools-list'],
    optionalPassed: ['caching'],
    optionalFailed: [],
  });
});

test.each([
  ['without a summary', 'Everything is fine'],
  ['without a total', REPORT.replace('Total:', 'Sum:')],
  ['with scenarios in another form', REPORT.replace('✗ tools-list: 1 passed, 1 failed', 'FAIL tools-list')],
  ['with other optional ones', REPORT.replace('  ✓ caching (extension)', '  ok caching')],
  ['that counts nothing', REPORT.replace('1 scenario(s) run, 0 failing', 'one')],
])('a report %s is no good score', (_, report) => {
  expect(() => scoreOf(report)).toThrow('unknown form');
});
