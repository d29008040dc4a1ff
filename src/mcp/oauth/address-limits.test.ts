import { expect, test } from 'bun:test';
import { GatewayError } from '../../core/errors.ts';
import { createAddressLimits } from './address-limits.ts';

function limits(most: number) {
  const clock = { at: 0 };
  return { clock, ...createAddressLimits({ most, periodMs: 60_000, now: () => clock.at }) };
}

test('an address that asks too often waits until its period is over', () => {
  const { clock, admit } = limits(2);
  admit('192.0.2.1');
  clock.at = 30_000;
  admit('192.0.2.1');
  try {
    admit('192.0.2.1');
    expect.unreachable();
  } catch (error) {
    expect((error as GatewayError).status).toBe(429);
    expect((error as GatewayError).headers['retry-after']).toBe('30');
  }
  admit('192.0.2.2');
  clock.at = 60_000;
  admit('192.0.2.1');
});

test('a network of IPv6 counts as one address, one of IPv4 does not', () => {
  const { admit } = limits(1);
  admit('2001:db8:1:2::1');
  expect(() => admit('2001:db8:1:2:ffff::9')).toThrow(GatewayError);
  admit('2001:db8:1:3::1');
  admit('2001:db8::1');
  admit('::ffff:192.0.2.1');
  admit('::ffff:192.0.2.2');
});

test('a flood from everywhere takes no more memory than it may', () => {
  const { admit } = limits(1);
  admit('192.0.2.1');
  for (let each = 0; each < 10_000; each++) admit(`10.0.${each >> 8}.${each & 255}`);
  // The oldest was forgotten to make room.
  admit('192.0.2.1');
});
