import { expect, test } from 'bun:test';
import { findAllowed, readAllowedPrograms } from './allowed-programs.ts';

const read = (value: unknown) => readAllowedPrograms(JSON.stringify(value));

test('a list of paths and of programs with their arguments is read', () => {
  expect(
    read(['/opt/a', { command: '/usr/bin/node', args: ['/x.js'], more_args: true, env: ['A'], set: { B: 'c' } }]),
  ).toEqual([
    { command: '/opt/a', args: [], takesMore: false, env: [], set: {} },
    { command: '/usr/bin/node', args: ['/x.js'], takesMore: true, env: ['A'], set: { B: 'c' } },
  ]);
});

const FAULTS: readonly (readonly [value: unknown, says: string])[] = [
  [{}, 'is no list'],
  [['npx'], '[0].command'],
  [['/usr/../bin/x'], '[0].command'],
  [['/usr//x'], '[0].command'],
  [['/usr/'], '[0].command'],
  [[{ command: '/a', shell: true }], '[0].shell'],
  [[{ command: '/a', args: 'x' }], '[0].args'],
  [[{ command: '/a', args: ['x\0'] }], '[0].args'],
  [['/a', { command: '/bin/sh', more_args: true }], '[1].more_args'],
  [[{ command: '/usr/bin/python3.12', more_args: true }], '[0].more_args'],
  [[{ command: '/usr/local/bin/npx', more_args: true }], '[0].more_args'],
  [[{ command: '/a', env: ['NODE_OPTIONS'] }], 'NODE_OPTIONS'],
  [[{ command: '/a', env: ['ld_preload'] }], 'ld_preload'],
  [[{ command: '/a', env: ['PATH'] }], 'PATH'],
  [[{ command: '/a', env: ['MCP_USER_CLAIMS'] }], 'MCP_USER_CLAIMS'],
  [[{ command: '/a', env: ['A=B'] }], '[0].env'],
  [[{ command: '/a', set: { A: 1 } }], '[0].set'],
];
for (const [value, says] of FAULTS)
  test(`${JSON.stringify(value)} is refused`, () => {
    expect(read(value)).toContain(says);
  });

test('a program is found with its own arguments alone, and with more where it takes more', () => {
  const programs = read([
    { command: '/a', args: ['one'] },
    { command: '/b', args: ['one'], more_args: true },
  ]);
  if (typeof programs === 'string') throw new Error(programs);
  const finds = (command: string, ...args: string[]) => findAllowed(programs, { command, args }) !== null;
  expect([finds('/a', 'one'), finds('/a'), finds('/a', 'one', 'two'), finds('/a', 'two')]).toEqual([
    true,
    false,
    false,
    false,
  ]);
  expect([finds('/b', 'one', 'two'), finds('/b', 'two', 'one'), finds('/b')]).toEqual([true, false, false]);
});
