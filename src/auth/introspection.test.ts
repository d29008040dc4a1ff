import { expect, test } from 'bun:test';
import { createJwtVerifier, type JwtRules } from './jwt-verify.ts';

const START = 1_800_000_000_000;
const ENDS = { exp: START / 1_000 + 60 };

function givenEndpoint(answer: unknown, status = 200) {
  const asked: { headers: Record<string, string>; body: string }[] = [];
  const clock = { time: START };
  const verifier = createJwtVerifier({
    now: () => clock.time,
    fetch: async (_url, init = {}) => {
      asked.push({ headers: init.headers ?? {}, body: init.body ?? '' });
      return Response.json(answer, { status });
    },
  });
  const rules = { introspectEndpoint: 'https://issuer.example/introspect' };
  // One object per test: what is learnt is kept by it.
  return { asked, clock, verify: (given: Partial<JwtRules> = {}) => verifier.verify('opaque', { ...rules, ...given }) };
}

test('an active token is believed and asked about every time', async () => {
  const { verify, asked } = givenEndpoint({ active: true, sub: 'ada', ...ENDS });
  expect((await verify()).claims).toEqual({ sub: 'ada', ...ENDS });
  await verify();
  expect(asked).toHaveLength(2);
  expect(asked[0]!.body).toBe('token=opaque');
});

test('it is asked about less often where the rules allow, and never past its end', async () => {
  const { verify, asked, clock } = givenEndpoint({ active: true, exp: START / 1_000 + 30 });
  const given = { introspectCacheMaxAge: 60 };
  await verify(given);
  await verify(given);
  expect(asked).toHaveLength(1);
  clock.time += 31_000;
  await verify(given);
  expect(asked).toHaveLength(2);
});

test('the gateway names itself, and asks in JSON where it is told to', async () => {
  const { verify, asked } = givenEndpoint({ active: true, ...ENDS });
  await verify({ introspectClientId: 'a:b', introspectClientSecret: 'ü', introspectContentType: 'application/json' });
  expect(asked[0]!.headers.authorization).toBe(`Basic ${btoa('a%3Ab:%C3%BC')}`);
  expect(asked[0]!.body).toBe('{"token":"opaque"}');
});

for (const [answer, reason] of [
  [{ active: false, sub: 'ada' }, 'not active'],
  [{ active: 'true' }, 'not active'],
  [{ active: true, exp: START / 1_000 - 10 }, 'expired'],
  [{ active: true, sub: 'ada' }, 'claims: exp'],
  [{ active: true, exp: String(ENDS.exp) }, 'claims: exp'],
  [{ active: true, ...ENDS, nbf: START / 1_000 + 10 }, 'not yet valid'],
  [{ active: true, ...ENDS, iss: 'https://other.example', aud: 'me' }, 'iss'],
  [{ active: true, ...ENDS, iss: 'https://issuer.example', aud: ['x'] }, 'aud'],
] as const) {
  test(`${JSON.stringify(answer)} is refused: ${reason}`, async () => {
    const { verify } = givenEndpoint(answer);
    const rules = reason === 'iss' || reason === 'aud' ? { issuer: 'https://issuer.example', audience: 'me' } : {};
    await expect(verify(rules)).rejects.toThrow(reason);
  });
}

test('an endpoint that fails leaves open what the token is worth', async () => {
  await expect(givenEndpoint({}, 500).verify()).rejects.toThrow('cannot be checked');
  await expect(givenEndpoint('text').verify()).rejects.toThrow('no object');
});
