import { expect, test } from 'bun:test';
import { GatewayError } from '../core/errors.ts';
import { replyWithError } from './reply.ts';

test('a header that cannot be sent as it is does not cost the client the error', async () => {
  const error = new GatewayError('rate_limited', ['key 日本', '2 requests', 'used up', 'soon'], {
    'retry-after': '1',
    'x-of-a-name': 'Grüße, 日本\r\nset-cookie: a=b\0',
  });
  const reply = replyWithError(error);
  expect(reply.status).toBe(429);
  expect(reply.headers.get('retry-after')).toBe('1');
  expect(reply.headers.get('x-of-a-name')).toBe('Grüße, ????set-cookie: a=b?');
  expect(reply.headers.has('set-cookie')).toBe(false);
  expect(((await reply.json()) as { error: { code: string } }).error.code).toBe('rate_limited');
});
