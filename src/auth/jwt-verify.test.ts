import { beforeAll, describe, expect, test } from 'bun:test';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { GatewayError } from '../core/errors.ts';
import { createJwtVerifier, type JwtRules, TokenRefused } from './jwt-verify.ts';

interface Signer {
  readonly key: CryptoKey;
  readonly jwk: JWK;
}

async function newSigner(kid: string, alg = 'RS256'): Promise<Signer> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { key: privateKey, jwk: { ...(await exportJWK(publicKey)), kid, use: 'sig', alg } };
}

let one: Signer;
let two: Signer;
beforeAll(async () => {
  [one, two] = await Promise.all([newSigner('one'), newSigner('two')]);
});

const URI = 'https://issuer.example/jwks';
const START = 1_800_000_000_000;

const token = (signer: Signer, claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}) =>
  new SignJWT({ iss: 'https://issuer.example', sub: 'ada', exp: START / 1_000 + 600, iat: START / 1_000, ...claims })
    .setProtectedHeader({ alg: 'RS256', kid: signer.jwk.kid, ...header })
    .sign(signer.key);

/** An issuer whose keys, mood and caching a test decides. */
function givenIssuer({ cacheControl = '' } = {}) {
  const issuer = { keys: [one.jwk] as JWK[], isDown: false, asked: 0, time: START, body: null as unknown };
  const verifier = createJwtVerifier({
    now: () => issuer.time,
    fetch: async () => {
      issuer.asked++;
      await Promise.resolve();
      if (issuer.isDown) throw new Error('down');
      return Response.json(issuer.body ?? { keys: issuer.keys }, { headers: { 'cache-control': cacheControl } });
    },
  });
  const verify = (text: string, rules: Partial<JwtRules> = {}) => verifier.verify(text, { jwksUri: URI, ...rules });
  return { issuer, verify };
}

const refusal = async (verifying: Promise<unknown>): Promise<string> => {
  const error = await verifying.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(TokenRefused);
  return (error as TokenRefused).message;
};

describe('a token', () => {
  test('of a known key is believed, and its claims are answered', async () => {
    const { verify } = givenIssuer();
    expect((await verify(await token(one, { groups: ['a'] }))).claims).toMatchObject({ sub: 'ada', groups: ['a'] });
  });

  test('that has expired, is early or is too old is refused', async () => {
    const { verify } = givenIssuer();
    const seconds = START / 1_000;
    expect(await refusal(verify(await token(one, { exp: seconds - 6 })))).toBe('Token is expired');
    expect((await verify(await token(one, { exp: seconds - 3 }))).claims.sub).toBe('ada');
    expect(await refusal(verify(await token(one, { exp: seconds - 3 }), { clockTolerance: 0 }))).toBe(
      'Token is expired',
    );
    expect(await refusal(verify(await token(one, { nbf: seconds + 60 })))).toBe('Token is not yet valid');
    expect(await refusal(verify(await token(one, { iat: seconds - 7_300 }), { maxTokenAge: '2h' }))).toBe(
      'Token is older than allowed',
    );
  });

  test('of another issuer or for another audience is refused', async () => {
    const { verify } = givenIssuer();
    const rules = { issuer: 'https://issuer.example', audience: ['https://gateway.example/s/mcp'] };
    const good = await token(one, { aud: ['x', 'https://gateway.example/s/mcp'] });
    expect((await verify(good, rules)).claims.sub).toBe('ada');
    expect((await verify(good, { ...rules, issuer: 'https://issuer.example/' })).claims.sub).toBe('ada');
    expect(await refusal(verify(await token(one, { aud: 'x' }), rules))).toContain('aud');
    expect(await refusal(verify(await token(one), rules))).toContain('aud');
    const foreign = await token(one, { iss: 'https://evil.example', aud: rules.audience });
    expect(await refusal(verify(foreign, rules))).toContain('iss');
  });

  test('that was altered, or signed by a key of the same name, is refused', async () => {
    const { verify } = givenIssuer();
    const [header, , signature] = (await token(one)).split('.');
    const payload = Buffer.from('{"sub":"eve","exp":9999999999}').toString('base64url');
    expect(await refusal(verify(`${header}.${payload}.${signature}`))).toContain('signature');
    expect(await refusal(verify(await token(two, {}, { kid: 'one' })))).toContain('signature');
  });

  test('cannot choose its own algorithm', async () => {
    const { verify } = givenIssuer();
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const unsigned = `${encode({ alg: 'none' })}.${encode({ sub: 'eve' })}.`;
    expect(await refusal(verify(unsigned))).toBeString();
    const shared = await new SignJWT({ sub: 'eve' })
      .setProtectedHeader({ alg: 'HS256', kid: 'one' })
      .sign(Buffer.from(String(one.jwk.n)));
    expect(await refusal(verify(shared))).toContain('algorithm');
    const other = await newSigner('ec', 'ES256');
    expect(await refusal(verify(await token(other, {}, { alg: 'ES256' })))).toContain('algorithm');
  });

  test('brings no keys of its own', async () => {
    const { verify, issuer } = givenIssuer();
    const bold = await token(two, {}, { jwk: two.jwk, jku: 'https://evil.example/jwks', x5u: 'https://evil.example' });
    await refusal(verify(bold));
    expect(issuer.asked).toBeLessThanOrEqual(2);
  });

  test('with a critical header that nobody knows is refused', async () => {
    const { verify } = givenIssuer();
    const [, payload, signature] = (await token(one)).split('.');
    const header = Buffer.from('{"alg":"RS256","kid":"one","crit":["exp"],"exp":1}').toString('base64url');
    await refusal(verify(`${header}.${payload}.${signature}`));
  });

  test('without a key id is tried with every key', async () => {
    const { verify, issuer } = givenIssuer();
    issuer.keys = [one.jwk, two.jwk];
    expect((await verify(await token(two, {}, { kid: undefined }))).claims.sub).toBe('ada');
  });

  test('that is no token at all is refused', async () => {
    const { verify } = givenIssuer();
    for (const text of ['', 'a', 'a.b.c', 'a.b', '...', `${await token(one)}.x`]) await refusal(verify(text));
  });
});

describe('claims', () => {
  const rulesAndClaims: [string, Partial<JwtRules>, Record<string, unknown>, string | null][] = [
    ['a required one is there', { requiredClaims: ['groups'] }, { groups: ['staff'] }, null],
    ['a required one is missing', { requiredClaims: ['groups', 'sub'] }, {}, 'Missing required claims: groups'],
    ['null is missing', { requiredClaims: ['x'] }, { x: null }, 'Missing required claims: x'],
    ['a blank text is missing', { requiredClaims: ['x'] }, { x: '  ' }, 'Missing required claims: x'],
    ['an empty list is missing', { requiredClaims: ['x'] }, { x: [] }, 'Missing required claims: x'],
    ['a list of nothing is missing', { requiredClaims: ['x'] }, { x: ['', null] }, 'Missing required claims: x'],
    ['an empty object is missing', { requiredClaims: ['x'] }, { x: {} }, 'Missing required claims: x'],
    ['an empty text is missing', { requiredClaims: ['x'] }, { x: '' }, 'Missing required claims: x'],
    ['a prototype is missing', { requiredClaims: ['toString'] }, {}, 'Missing required claims: toString'],
    ['exactly a value', { claimValues: { tier: { values: ['a', 'b'] } } }, { tier: 'b' }, null],
    ['a number', { claimValues: { level: { values: 3 } } }, { level: 3 }, null],
    ['another value', { claimValues: { tier: { values: 'a' } } }, { tier: 'c' }, 'allowed value: tier'],
    ['a list with one too many', { claimValues: { t: { values: ['a'] } } }, { t: ['a', 'b'] }, 'allowed value: t'],
    ['an absent one', { claimValues: { t: { values: ['a'] } } }, {}, 'allowed value: t'],
    ['a list that contains', { claimValues: { t: { values: ['a', 'z'], matchType: 'contains' } } }, { t: ['a'] }, null],
    [
      'an element, not a part of it',
      { claimValues: { t: { values: 'a', matchType: 'contains' } } },
      { t: ['ab'] },
      't',
    ],
    [
      'a text that contains',
      { claimValues: { e: { values: '@x.org', matchType: 'contains' } } },
      { e: 'a@x.org' },
      null,
    ],
    ['all of them', { claimValues: { t: { values: ['a', 'b'], matchType: 'containsAll' } } }, { t: ['b', 'a'] }, null],
    ['not all', { claimValues: { t: { values: ['a', 'b'], matchType: 'containsAll' } } }, { t: ['a'] }, 't'],
    ['a pattern', { claimValues: { e: { values: '^.+@x\\.org$', matchType: 'regex' } } }, { e: 'a@x.org' }, null],
    ['no pattern', { claimValues: { e: { values: '^b', matchType: 'regex' } } }, { e: 'a' }, 'e'],
    ['header and payload alike', { headerPayloadMatch: ['kid'] }, { kid: 'one' }, null],
    ['header and payload apart', { headerPayloadMatch: ['kid'] }, { kid: 'two' }, 'differ in: kid'],
  ];
  for (const [name, rules, claims, fault] of rulesAndClaims) {
    test(name, async () => {
      const { verify } = givenIssuer();
      const text = await token(one, claims);
      if (fault === null) expect((await verify(text, rules)).claims.sub).toBe('ada');
      else expect(await refusal(verify(text, rules))).toContain(fault);
    });
  }
});

describe('the keys', () => {
  test('are asked for once, however many wait', async () => {
    const { verify, issuer } = givenIssuer();
    const tokens = await Promise.all(Array.from({ length: 20 }, (_, index) => token(one, { index })));
    await Promise.all(tokens.map((each) => verify(each)));
    expect(issuer.asked).toBe(1);
  });

  test('are asked for again when they have been changed', async () => {
    const { verify, issuer } = givenIssuer();
    await verify(await token(one));
    issuer.keys = [two.jwk];
    expect((await verify(await token(two))).claims.sub).toBe('ada');
    expect(issuer.asked).toBe(2);
  });

  test('are asked for at most once in 30 seconds by a flood of unknown key ids', async () => {
    const { verify, issuer } = givenIssuer();
    await verify(await token(one));
    const flood = await Promise.all(Array.from({ length: 500 }, (_, index) => token(two, {}, { kid: `x${index}` })));
    for (const each of flood.slice(0, 250)) await refusal(verify(each));
    await Promise.all(flood.slice(250).map((each) => refusal(verify(each))));
    expect(issuer.asked).toBe(2);
    issuer.time += 30_000;
    await refusal(verify(flood[0]!));
    expect(issuer.asked).toBe(3);
  });

  test('serve on while the issuer is away, and it is not asked at every call', async () => {
    const { verify, issuer } = givenIssuer();
    await verify(await token(one));
    issuer.isDown = true;
    issuer.time += 86_400_000 + 1_000;
    for (let index = 0; index < 5; index++) {
      const exp = issuer.time / 1_000 + 600;
      expect((await verify(await token(one, { exp, index }))).claims.sub).toBe('ada');
    }
    expect(issuer.asked).toBe(2);
    issuer.time += 86_400_000;
    const late = verify(await token(one, { exp: issuer.time / 1_000 + 600 }));
    await expect(late).rejects.toThrow('cannot be checked');
  });

  test('live no longer than the issuer says', async () => {
    const { verify, issuer } = givenIssuer({ cacheControl: 'public, max-age=60' });
    await verify(await token(one));
    issuer.time += 61_000;
    await verify(await token(one, { again: true }));
    expect(issuer.asked).toBe(2);
  });

  test('that were never had make it impossible to tell, which is not the same as a refusal', async () => {
    const { verify, issuer } = givenIssuer();
    issuer.isDown = true;
    const error = await verify(await token(one)).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(GatewayError);
    expect(error).toMatchObject({ code: 'identity_provider_unavailable', status: 503 });
    issuer.isDown = false;
    issuer.time += 2_000;
    expect((await verify(await token(one))).claims.sub).toBe('ada');
  });

  test('that are no keys are unavailable, too', async () => {
    for (const body of [{}, [], 'text', { keys: 'x' }]) {
      const { verify, issuer } = givenIssuer();
      issuer.body = body;
      await expect(verify(await token(one))).rejects.toThrow('no key set');
    }
  });

  test('may be given in the rules', async () => {
    const { verify, issuer } = givenIssuer();
    const rules = { jwksUri: undefined, jwks: { keys: [one.jwk as Record<string, unknown>] } };
    expect((await verify(await token(one), rules)).claims.sub).toBe('ada');
    expect(issuer.asked).toBe(0);
  });
});

test('a believed token is looked at again after a minute, and never outlives itself', async () => {
  const { verify, issuer } = givenIssuer();
  const short = await token(one, { exp: START / 1_000 + 10 });
  await verify(short);
  issuer.time += 16_000;
  expect(await refusal(verify(short))).toBe('Token is expired');
  const long = await token(one);
  await verify(long);
  issuer.keys = [two.jwk];
  issuer.time += 61_000;
  await verify(await token(two));
  await refusal(verify(long));
});
