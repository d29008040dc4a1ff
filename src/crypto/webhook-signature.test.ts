import { expect, test } from 'bun:test';
import { newSecrets, replaced, signatureHeaders } from './webhook-signature.ts';

test('a signature is the one that the standard computes', () => {
  const current = `whsec_${Buffer.from('0123456789abcdefghijklmn').toString('base64')}`;
  const headers = signatureHeaders({ id: 'evt_1', body: '{"a":1}' }, { current }, 1_700_000_000_999);
  expect(headers).toEqual({
    'webhook-id': 'evt_1',
    'webhook-timestamp': '1700000000',
    'webhook-signature': `v1,${new Bun.CryptoHasher('sha256', '0123456789abcdefghijklmn')
      .update('evt_1.1700000000.{"a":1}')
      .digest('base64')}`,
  });
});

test('a secret that was replaced signs along for a day, and no longer', () => {
  const old = newSecrets();
  const secrets = replaced(old, 0);
  expect(secrets.current).not.toBe(old.current);
  const count = (now: number) =>
    signatureHeaders({ id: 'e', body: '' }, secrets, now)['webhook-signature']!.split(' ').length;
  expect([count(86_399_999), count(86_400_000)]).toEqual([2, 1]);
});
