import { beforeAll, expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import { type CryptoKey, exportJWK, exportSPKI, generateKeyPair, type JWK, SignJWT } from 'jose';
import { factsOf, faultsOf, judge, portsOf } from '../../../test/guardrails/facts.ts';
import { createJwtVerifier } from '../../auth/jwt-verify.ts';
import type { VerifyJwt } from '../../core/jwt.ts';
import { jwt } from './jwt.ts';

const NOW = 1_900_000_000_000;
const seconds = NOW / 1_000;
const jwksUri = 'https://issuer.example/jwks';

let signing: CryptoKey;
let publicKey: CryptoKey;
let stranger: CryptoKey;
let jwk: JWK;

beforeAll(async () => {
  ({ privateKey: signing, publicKey } = await generateKeyPair('RS256', { extractable: true }));
  ({ privateKey: stranger } = await generateKeyPair('RS256'));
  jwk = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'RS256', use: 'sig' };
});

interface Claims {
  readonly [name: string]: unknown;
}
const tokenOf = (claims: Claims = {}, { kid = 'one', key = signing }: { kid?: string; key?: CryptoKey } = {}) =>
  new SignJWT({ iss: 'https://issuer.example', sub: 'ada', iat: seconds, exp: seconds + 600, ...claims })
    .setProtectedHeader({ alg: 'RS256', kid })
    .sign(key);

/** The real verifier, with an issuer whose answers are counted and a clock that stands. */
function given(answer: () => Response | Promise<Response> = () => Response.json({ keys: [jwk] })) {
  const issuer = { asked: 0, now: NOW };
  const verifier = createJwtVerifier({
    fetch: async () => {
      issuer.asked++;
      return answer();
    },
    now: () => issuer.now,
  });
  const verifyJwt: VerifyJwt = verifier.verify;
  const parsed = new Map<string, unknown>();
  const run = async (token: string | null, parameters: object = {}, header = 'authorization') => {
    const key = JSON.stringify(parameters);
    if (!parsed.has(key)) parsed.set(key, jwt.parameters().parse({ jwksUri, ...parameters }));
    const facts = factsOf('x', { headers: token === null ? {} : { [header]: token } });
    return jwt.run(facts, parsed.get(key), portsOf({ verifyJwt }));
  };
  return { issuer, run };
}

test('a good token passes, with or without Bearer in any case, in any header in any case', async () => {
  const { run, issuer } = given();
  const token = await tokenOf();
  expect(await run(token)).toEqual({
    verdict: true,
    data: {
      verdict: true,
      explanation: 'The token is valid',
      validations: {
        signatureValid: true,
        requiredClaims: { valid: true, missing: [] },
        claimValues: { valid: true, failed: [] },
        headerPayloadMatch: { valid: true, differing: [] },
      },
    },
  });
  expect((await run(`Bearer ${token}`)).verdict).toBe(true);
  expect((await run(`bEARER   ${token} `)).verdict).toBe(true);
  expect((await run(token, { headerKey: 'X-User-Token' }, 'x-user-token')).verdict).toBe(true);
  expect((await run(token, { headerKey: 'X-User-Token' })).verdict).toBe(false);
  expect(issuer.asked).toBe(1);
});

const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

const attacks: Record<string, () => Promise<string | null>> = {
  'no token': async () => null,
  'an empty token': async () => '',
  'Bearer alone': async () => 'Bearer',
  garbage: async () => 'garbage',
  'three parts of garbage': async () => 'a.b.c',
  'the algorithm none': async () =>
    `${base64({ alg: 'none' })}.${base64({ sub: 'ada', iat: seconds, exp: seconds + 60 })}.`,
  'the algorithm none with the signature of another': async () => {
    const [, payload, signature] = (await tokenOf()).split('.');
    return `${base64({ alg: 'none', kid: 'one' })}.${payload}.${signature}`;
  },
  'HMAC with the public key': async () => {
    const body = `${base64({ alg: 'HS256', kid: 'one' })}.${base64({ sub: 'ada', iat: seconds, exp: seconds + 60 })}`;
    return `${body}.${createHmac('sha256', await exportSPKI(publicKey))
      .update(body)
      .digest('base64url')}`;
  },
  'a key of its own in its header': async () => {
    const own = await generateKeyPair('RS256', { extractable: true });
    return new SignJWT({ iat: seconds, exp: seconds + 60 })
      .setProtectedHeader({ alg: 'RS256', kid: 'one', jwk: await exportJWK(own.publicKey) })
      .sign(own.privateKey);
  },
  'a signature by a stranger': () => tokenOf({}, { key: stranger }),
  'an unknown key id': () => tokenOf({}, { kid: 'two' }),
  'a changed payload': async () => {
    const [header, , signature] = (await tokenOf()).split('.');
    return `${header}.${base64({ sub: 'eve', iat: seconds, exp: seconds + 600 })}.${signature}`;
  },
  'a token that expired': () => tokenOf({ exp: seconds - 6 }),
  'a token that is not valid yet': () => tokenOf({ nbf: seconds + 60 }),
  'a token from the future': () => tokenOf({ iat: seconds + 60 }),
  'a token that is too old': () => tokenOf({ iat: seconds - 90_000, exp: seconds + 600 }),
  'a token without the time of its making': () => tokenOf({ iat: undefined }),
  'a huge token': () => tokenOf({ filler: 'x'.repeat(100_000) }),
  'another algorithm than allowed': async () => {
    const { privateKey } = await generateKeyPair('ES256');
    return new SignJWT({ iat: seconds }).setProtectedHeader({ alg: 'ES256', kid: 'one' }).sign(privateKey);
  },
};

for (const [name, token] of Object.entries(attacks)) {
  test(`${name} fails the check, and nothing of the token is shown`, async () => {
    const { run } = given();
    const made = await token();
    const result = await run(made);
    expect(result.verdict).toBe(false);
    expect(result.headers).toBeUndefined();
    if (made && made.length > 10) expect(JSON.stringify(result)).not.toContain(made.slice(0, 20));
  });
}

test('times are tolerated by as much as clocks may differ, and no more', async () => {
  const { run } = given();
  expect((await run(await tokenOf({ exp: seconds - 4 }))).verdict).toBe(true);
  expect((await run(await tokenOf({ exp: seconds - 4 }), { clockTolerance: 0 })).verdict).toBe(false);
  expect((await run(await tokenOf({ iat: seconds - 3_000 }), { maxTokenAge: '30m' })).verdict).toBe(false);
  expect((await run(await tokenOf({ iat: seconds - 3_000 }), { maxTokenAge: '1h' })).verdict).toBe(true);
});

test('issuer and audience are checked when asked for', async () => {
  const { run } = given();
  const token = await tokenOf({ aud: ['us', 'them'] });
  expect((await run(token, { issuer: 'https://issuer.example', audience: 'us' })).verdict).toBe(true);
  expect((await run(token, { issuer: 'https://other.example' })).verdict).toBe(false);
  expect((await run(token, { audience: 'nobody' })).verdict).toBe(false);
});

test('claims are checked, and the faults are named without their values', async () => {
  const { run } = given();
  const token = await tokenOf({ roles: ['reader'], email: 'ada@corp.example', kid: 'other' });
  const result = await run(token, {
    requiredClaims: ['sub', 'tenant', 'constructor'],
    claimValues: {
      roles: { values: ['admin'], matchType: 'contains' },
      email: { values: '@corp\\.example$', matchType: 'regex' },
    },
    headerPayloadMatch: ['kid', 'absent'],
  });
  expect(result).toMatchObject({
    verdict: false,
    data: {
      validations: {
        signatureValid: true,
        requiredClaims: { valid: false, missing: ['tenant', 'constructor'] },
        claimValues: { valid: false, failed: ['roles'] },
        headerPayloadMatch: { valid: false, differing: ['kid', 'absent'] },
      },
    },
  });
  expect(JSON.stringify(result)).not.toContain('reader');
});

for (const [matchType, values, claim, fits] of [
  ['exact', 'a', 'a', true],
  ['exact', ['a', 'b'], 'b', true],
  ['exact', ['a'], ['a', 'b'], false],
  ['contains', 'a', ['a', 'b'], true],
  ['containsAll', ['a', 'b'], ['a', 'b', 'c'], true],
  ['containsAll', ['a', 'd'], ['a', 'b', 'c'], false],
  ['regex', '^a+$', 'aaa', true],
  ['exact', true, true, true],
  ['exact', 5, 5, true],
  ['exact', 'a', { a: 1 }, false],
] as const) {
  test(`the claim ${JSON.stringify(claim)} ${fits ? 'fits' : 'does not fit'} ${matchType} ${JSON.stringify(values)}`, async () => {
    const { run } = given();
    expect((await run(await tokenOf({ claim }), { claimValues: { claim: { values, matchType } } })).verdict).toBe(fits);
  });
}

test('claims become headers on success only; what the token lacks takes a header of the caller away', async () => {
  const { run } = given();
  const parameters = { extractClaims: ['user_id', 'groups', 'tenant', 'note'] };
  const token = await tokenOf({ user_id: 7, groups: ['a', 'b'], note: 'x\r\ny: z' });
  expect((await run(token, parameters)).headers).toEqual({
    'x-jwt-user-id': '7',
    'x-jwt-groups': 'a,b',
    'x-jwt-tenant': null,
    'x-jwt-note': 'x??y: z',
  });
  expect((await run(token, { ...parameters, requiredClaims: ['tenant'] })).headers).toBeUndefined();
});

test('a thousand unknown key ids make the issuer be asked again once per cool-down', async () => {
  const { run, issuer } = given();
  expect((await run(await tokenOf())).verdict).toBe(true);
  const tokens = await Promise.all(
    Array.from({ length: 1_000 }, (_, index) => tokenOf({}, { kid: `unknown-${index}` })),
  );
  const verdicts = await Promise.all(tokens.map(async (token) => (await run(token)).verdict));
  expect(verdicts).not.toContain(true);
  expect(issuer.asked).toBe(2);
  issuer.now += 31_000;
  await run(await tokenOf({}, { kid: 'unknown-again' }));
  expect(issuer.asked).toBe(3);
});

test('a new key is found without waiting, and old keys serve while the issuer is away', async () => {
  const keys: JWK[] = [jwk];
  let isAway = false;
  const { run, issuer } = given(() => (isAway ? new Response('', { status: 500 }) : Response.json({ keys })));
  expect((await run(await tokenOf())).verdict).toBe(true);
  const second = await generateKeyPair('RS256', { extractable: true });
  keys.push({ ...(await exportJWK(second.publicKey)), kid: 'two', alg: 'RS256' });
  expect((await run(await tokenOf({}, { kid: 'two', key: second.privateKey }))).verdict).toBe(true);
  isAway = true;
  issuer.now += 86_500_000;
  const later = issuer.now / 1_000;
  expect((await run(await tokenOf({ iat: later, exp: later + 60 }))).verdict).toBe(true);
});

for (const [name, answer] of [
  ['answers 500', () => new Response('', { status: 500 })],
  ['answers no key set', () => Response.json({ no: 'keys' })],
  ['answers no JSON', () => new Response('<html>')],
  ['does not answer', () => Promise.reject(new Error('refused'))],
] as const) {
  test(`an issuer that ${name} fails the check with an error`, async () => {
    const { run } = given(answer as () => Response);
    expect(await run(await tokenOf())).toMatchObject({
      verdict: false,
      error: 'the keys or the issuer could not be asked',
    });
  });
}

test('keys may be given outright, and an issuer may be asked about each token', async () => {
  const { run, issuer } = given(() => Response.json({ active: true, sub: 'ada', iat: seconds, exp: seconds + 60 }));
  expect((await run(await tokenOf(), { jwksUri: undefined, jwks: { keys: [jwk] } })).verdict).toBe(true);
  expect(issuer.asked).toBe(0);
  const asking = { jwksUri: undefined, introspectEndpoint: 'https://issuer.example/introspect' };
  expect((await run('opaque-token', asking)).verdict).toBe(true);
  expect((await run('opaque-token', asking)).verdict).toBe(true);
  expect(issuer.asked).toBe(2);
  const inactive = given(() => Response.json({ active: false }));
  expect((await inactive.run('opaque-token', asking)).verdict).toBe(false);
});

for (const [path, parameters] of [
  ['jwksUri', {}],
  ['jwksUri', { jwksUri: 'file:///etc/passwd' }],
  ['jwks', { jwksUri, jwks: { keys: [{ kty: 'RSA' }] } }],
  ['jwks.keys.0.kty', { jwks: { keys: [{ kty: 'oct', k: 'c2VjcmV0' }] } }],
  ['jwks.keys.0.d', { jwks: { keys: [{ kty: 'RSA', d: 'x' }] } }],
  ['algorithms.0', { jwksUri, algorithms: ['none'] }],
  ['algorithms.1', { jwksUri, algorithms: ['RS256', 'HS256'] }],
  ['algorithms', { jwksUri, algorithms: [] }],
  ['headerKey', { jwksUri, headerKey: 'no header' }],
  ['clockTolerance', { jwksUri, clockTolerance: 3_600 }],
  ['maxTokenAge', { jwksUri, maxTokenAge: 'a while' }],
  ['maxTokenAge', { jwksUri, maxTokenAge: '0d' }],
  ['cacheMaxAge', { jwksUri, cacheMaxAge: -1 }],
  ['keepToken', { jwksUri, keepToken: 'yes' }],
  ['maxWorkAge', { jwksUri, maxWorkAge: '10 fortnights' }],
  ['claimValues.a.values', { jwksUri, claimValues: { a: { values: '(', matchType: 'regex' } } }],
  ['claimPrefix', { jwksUri, claimPrefix: 'x-gateway-' }],
  ['introspectClientId', { introspectEndpoint: jwksUri, introspectClientSecret: 's' }],
] as const) {
  test(`${JSON.stringify(parameters)} is refused at ${path}`, () => {
    expect(faultsOf(jwt, parameters)[0]).toStartWith(`${path}: `);
  });
}

test('the parameters of the specification are taken as they stand', async () => {
  const parameters = {
    jwksUri,
    headerKey: 'Authorization',
    cacheMaxAge: 86_400,
    clockTolerance: 5,
    maxTokenAge: '1d',
    algorithms: ['RS256'],
  };
  expect(faultsOf(jwt, parameters)).toEqual([]);
  expect(await judge(jwt, parameters, factsOf('x'))).toMatchObject({ verdict: false });
});
