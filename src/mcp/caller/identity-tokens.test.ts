import { expect, test } from 'bun:test';
import { decodeJwt } from 'jose';
import type { SigningKey } from '../../crypto/rsa.ts';
import { createIdentityTokens, type TokenAsk } from './identity-tokens.ts';

/** Signs at once and counts. */
function givenTokens({ capacity, startAt = 1_000_000 }: { capacity?: number; startAt?: number } = {}) {
  let time = startAt;
  let signed = 0;
  const encode = (text: string) => Buffer.from(text).toString('base64url');
  const key: SigningKey = {
    kid: 'key-1',
    jwk: { kty: 'RSA', n: '', e: '', kid: 'key-1', use: 'sig', alg: 'RS256' },
    sign: async (payload) => {
      const number = ++signed;
      await Promise.resolve();
      return `${encode('{"alg":"RS256"}')}.${encode(payload)}.${number}`;
    },
  };
  return {
    tokens: createIdentityTokens({ key, now: () => time, capacity }),
    pass: (ms: number) => {
      time += ms;
    },
    get signed() {
      return signed;
    },
  };
}

const ask = (given: Partial<TokenAsk> = {}): TokenAsk => ({
  callerId: 'key:1',
  claims: { sub: 'ada' },
  expirySeconds: 300,
  audience: null,
  ...given,
});

test('a token says who, by whom, since when and until when, and no more', async () => {
  const { tokens } = givenTokens({ startAt: 1_999_999 });

  expect(decodeJwt(await tokens.get(ask()))).toEqual({
    sub: 'ada',
    iss: 'service-mcp-gateway',
    iat: 1_999,
    exp: 2_299,
  });
  expect(decodeJwt(await tokens.get(ask({ audience: 'https://mcp.example' }))).aud).toBe('https://mcp.example');
});

test("what the gateway itself says cannot come from a user's claims", async () => {
  const { tokens } = givenTokens();
  const claims = { iss: 'evil', iat: 1, exp: 9e9, nbf: 9e9, aud: 'evil', jti: 'evil', sub: 'ada' };

  expect(decodeJwt(await tokens.get(ask({ claims })))).toEqual({
    sub: 'ada',
    iss: 'service-mcp-gateway',
    iat: 1_000,
    exp: 1_300,
  });
});

test('the same identity is signed once, also when many ask at the same moment', async () => {
  const given = givenTokens();

  const all = await Promise.all(Array.from({ length: 50 }, () => given.tokens.get(ask())));

  expect(new Set(all).size).toBe(1);
  expect(await given.tokens.get(ask())).toBe(all[0]!);
  expect(given.signed).toBe(1);
});

test('another caller, claim, lifetime or audience is another token', async () => {
  const given = givenTokens();
  const asks = [
    ask(),
    ask({ callerId: 'key:2' }),
    ask({ claims: { sub: 'bob' } }),
    ask({ claims: { sub: 'ada', email: 'a@b.c' } }),
    ask({ expirySeconds: 301 }),
    ask({ audience: 'x' }),
  ];

  const all = await Promise.all(asks.map((each) => given.tokens.get(each)));

  expect(new Set(all).size).toBe(asks.length);
});

test('a token is not served in its last five seconds', async () => {
  const given = givenTokens();
  const first = await given.tokens.get(ask());
  given.pass(294_999);
  expect(await given.tokens.get(ask())).toBe(first);
  given.pass(1);

  expect(await given.tokens.get(ask())).not.toBe(first);
});

test('a short-lived token is not served in its last tenth', async () => {
  const given = givenTokens();
  const first = await given.tokens.get(ask({ expirySeconds: 10 }));
  given.pass(8_999);
  expect(await given.tokens.get(ask({ expirySeconds: 10 }))).toBe(first);
  given.pass(1);

  expect(await given.tokens.get(ask({ expirySeconds: 10 }))).not.toBe(first);
});

test('the least recently used token goes first when the cache is full', async () => {
  const given = givenTokens({ capacity: 3 });
  for (const callerId of ['a', 'b', 'c']) await given.tokens.get(ask({ callerId }));
  await given.tokens.get(ask({ callerId: 'a' }));
  await given.tokens.get(ask({ callerId: 'd' }));
  expect(given.tokens.size).toBe(3);
  expect(given.signed).toBe(4);

  await given.tokens.get(ask({ callerId: 'a' }));
  expect(given.signed).toBe(4);
  await given.tokens.get(ask({ callerId: 'b' }));
  expect(given.signed).toBe(5);
});

test('ten thousand tokens are kept and no more', async () => {
  const { tokens } = givenTokens();
  for (let index = 0; index < 10_050; index++) await tokens.get(ask({ callerId: `key:${index}` }));

  expect(tokens.size).toBe(10_000);
});

test('a signature that fails is the fault of its own call alone', async () => {
  let isBroken = true;
  const key: SigningKey = {
    kid: 'key-1',
    jwk: { kty: 'RSA', n: '', e: '', kid: 'key-1', use: 'sig', alg: 'RS256' },
    sign: async (payload) => {
      if (isBroken) throw new Error('broken');
      return payload;
    },
  };
  const tokens = createIdentityTokens({ key, now: () => 0 });
  await expect(Promise.resolve(tokens.get(ask()))).rejects.toThrow('broken');
  isBroken = false;

  expect(await tokens.get(ask())).toContain('ada');
});
