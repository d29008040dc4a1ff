import { expect, test } from 'bun:test';
import { withRealHashes } from '../../test/passwords.ts';
import { createPasswords } from './password.ts';

const passwords = createPasswords();

test('a password matches its own hash and no other', async () => {
  const hash = await passwords.hash('correct horse');

  expect(hash).toStartWith('$argon2id$');
  expect(await passwords.matches('correct horse', hash)).toBe(true);
  expect(await passwords.matches('wrong horse', hash)).toBe(false);
  expect(await passwords.hash('correct horse')).not.toBe(hash);
});

test('nobody’s password matches, and takes as much work to say so', async () => {
  expect(await passwords.matches('', null)).toBe(false);
  expect(await passwords.matches('anything', null)).toBe(false);
});

test('a hash takes the work that is recommended', async () => {
  expect(await withRealHashes(() => passwords.hash('correct horse'))).toStartWith('$argon2id$v=19$m=19456,t=2,');
});

test('more than can wait are turned away, and those that wait get their turn', async () => {
  const hash = await passwords.hash('x');
  const outcomes = await Promise.allSettled(Array.from({ length: 80 }, () => passwords.matches('x', hash)));

  const refused = outcomes.filter(({ status }) => status === 'rejected');
  expect(refused).toHaveLength(80 - 66);
  for (const outcome of refused) expect((outcome as PromiseRejectedResult).reason.code).toBe('sign_in_busy');
  expect(await passwords.matches('x', hash)).toBe(true);
});
