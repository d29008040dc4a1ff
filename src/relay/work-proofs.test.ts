import { expect, test } from 'bun:test';
import { createSealer } from '../crypto/seal.ts';
import type { Proof } from '../guardrails/proof.ts';
import { createWorkProofs } from './work-proofs.ts';

const proof: Proof = { claims: { sub: 'ada' }, header: { alg: 'RS256' }, verifiedAt: 1 };
const proofs = createWorkProofs({
  guard: async () => null,
  configs: { resolve: () => Promise.reject(new Error('no config is named')) },
  sealer: createSealer(Buffer.alloc(32, 1)),
});

test('what was proven for one work proves nothing for another, and nothing once it was altered', () => {
  const sealed = proofs.seal('run_1', new Map([['key', proof]]))!;

  expect(proofs.open('run_1', sealed).kept.get('key')).toEqual(proof);
  expect(proofs.open('run_2', sealed).kept.size).toBe(0);
  expect(proofs.open('run_1', `${sealed.slice(0, -2)}AA`).kept.size).toBe(0);
  expect(proofs.open('run_1', null).kept.size).toBe(0);
  expect(proofs.seal('run_1', new Map())).toBeNull();
});
