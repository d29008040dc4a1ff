import { expect, test } from 'bun:test';
import { faultsOf, judge } from '../../../test/guardrails/facts.ts';
import { secrets } from './secrets.ts';

const foundIn = async (text: string) => Object.keys((await judge(secrets, {}, text)).data!.found as object);
const redacted = async (text: string, parameters: object = {}) => {
  const { transformed } = await judge(secrets, { redact: true, ...parameters }, text);
  return transformed && 'texts' in transformed ? transformed.texts[0]!.text : text;
};

// Made up, and put together here so that no scanner of repositories takes them for real ones.
const random = (length: number) => 'aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zC'.repeat(8).slice(0, length);
const hex = (length: number) => '0123456789abcdef'.repeat(8).slice(0, length);

for (const [category, secret] of [
  ['API_KEY', `sk-${random(48)}`],
  ['API_KEY', `sk-proj-${random(64)}`],
  ['API_KEY', `sk-ant-api03-${random(80)}`],
  ['API_KEY', `gsk_${random(52)}`],
  ['API_KEY', `hf_${random(34)}`],
  ['API_KEY', `r8_${random(37)}`],
  ['API_KEY', `xai-${random(80)}`],
  ['API_KEY', `pplx-${random(48)}`],
  ['API_KEY', `AIza${random(35)}`],
  ['API_KEY', `AKIA${'ABCDEFGH234567IJ'}`],
  ['API_KEY', `ghp_${random(36)}`],
  ['API_KEY', `github_pat_${random(82)}`],
  ['API_KEY', `glpat-${random(20)}`],
  ['API_KEY', `xoxb-${'1234567890-1234567890-'}${random(24)}`],
  ['API_KEY', `sk_live_${random(24)}`],
  ['API_KEY', `SG.${random(22)}.${random(43)}`],
  ['API_KEY', `npm_${random(36)}`],
  ['API_KEY', `dop_v1_${hex(64)}`],
  ['API_KEY', `gw-${random(32)}`],
  ['TOKEN', `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.${random(43)}`],
  ['TOKEN', `https://hooks.slack.com/services/${'T00000000/B00000000/'}${random(24)}`],
  ['PRIVATE_KEY', `-----BEGIN RSA PRIVATE KEY-----\n${random(64)}\n${random(64)}\n-----END RSA PRIVATE KEY-----`],
  ['PRIVATE_KEY', `-----BEGIN OPENSSH PRIVATE KEY-----\\n${random(64)}\\n-----END OPENSSH PRIVATE KEY-----`],
  ['HIGH_ENTROPY', 'Xq7Lz2Vb9Rt4Kp8Wm3Ys6Nc1Hd5Jf0GaEuTiOx'],
] as const) {
  test(`${category} is found in ${secret.slice(0, 12)}… and redacted whole`, async () => {
    expect(await foundIn(`before ${secret} after`)).toContain(category);
    const text = await redacted(`before ${secret} after`);
    expect(text).toBe(`before {{${category}_1}} after`);
    expect(JSON.stringify(await judge(secrets, {}, secret))).not.toContain(secret.slice(8, 30));
  });
}

for (const [text, left] of [
  ['postgres://app:hunter22@db.example:5432/x', 'postgres://app:{{PASSWORD_1}}@db.example:5432/x'],
  ['password = "correct-horse"', 'password = "{{PASSWORD_1}}"'],
  ['{"api_key": "abcdefgh1234"}', '{"api_key": "{{PASSWORD_1}}"}'],
  ['AWS_SECRET_ACCESS_KEY=abcdefgh1234', 'AWS_SECRET_ACCESS_KEY={{PASSWORD_1}}'],
  ['Authorization: Bearer abcdefghij0123456789xyz', 'Authorization: Bearer {{TOKEN_1}}'],
] as const) {
  test(`of ${text} only the secret is taken`, async () => {
    expect(await redacted(text)).toBe(left);
  });
}

test('a private key without an end is taken as far as it goes', async () => {
  const text = await redacted(`x -----BEGIN PRIVATE KEY-----\n${random(64)}\n${random(64)}\nand then prose`);
  expect(text).toBe('x {{PRIVATE_KEY_1}}and then prose');
});

for (const text of [
  'sk-learn-pipelines-for-beginners and task-list-for-the-week',
  'The commit 0123456789abcdef0123456789abcdef01234567 fixes it.',
  '550e8400-e29b-41d4-a716-446655440000',
  'password: <your password here>',
  'api_key = process.env.API_KEY',
  'api_key: "your-key-here"',
  'getUserAuthenticationTokenFromRequestHeaders',
  'https://example.com/a/path/that/is/rather/long/2024/01/index.html',
  '-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----',
  'A normal sentence with nothing in it.',
  '',
  '\0',
]) {
  test(`nothing is found in ${JSON.stringify(text)}`, async () => {
    expect(await foundIn(text)).toEqual([]);
    expect(await judge(secrets, {}, text)).toMatchObject({ verdict: true });
  });
}

test('characters that nobody sees hide no key', async () => {
  expect(await redacted(`x gh\u200bp_${random(36)} y`)).toBe('x {{API_KEY_1}} y');
});

test('only the categories asked for are looked for', async () => {
  const text = `sk-${random(48)} password=abcdefgh1`;
  expect(await redacted(text, { categories: ['PASSWORD'] })).toStartWith('sk-');
  expect(faultsOf(secrets, { categories: ['KEYS'] })[0]).toStartWith('categories.0: give some of PRIVATE_KEY');
});

for (const piece of [
  'a',
  'sk-',
  'eyJ',
  'a.',
  '-----BEGIN PRIVATE KEY-----\n',
  'aB3',
  'password=',
  'a://b:',
  'bearer ',
  '/',
  '-',
  ' ',
  '=',
]) {
  test(`a megabyte of ${JSON.stringify(piece)} takes bounded time`, async () => {
    const started = performance.now();
    await judge(secrets, { redact: true }, piece.repeat(1_000_000 / piece.length));
    expect(performance.now() - started).toBeLessThan(10_000);
  });
}
