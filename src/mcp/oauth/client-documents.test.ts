import { afterEach, beforeEach, expect, test } from 'bun:test';
import { serve } from '../../../test/gateway.ts';
import { createEgressPolicy } from '../../http/egress.ts';
import { createUpstream } from '../../http/upstream.ts';
import { createClientDocuments, isDocumentAddress } from './client-documents.ts';

let site: ReturnType<typeof serve>;
let asked: number;
let answer: (url: string) => Response;
const clock = { at: 0 };
beforeEach(() => {
  asked = 0;
  clock.at = 0;
  answer = (url) => Response.json(described(url));
  site = serve(({ url }) => {
    asked++;
    return answer(url);
  });
});
afterEach(() => site.stop());

const described = (url: string) => ({
  client_id: url,
  client_name: 'Notes',
  redirect_uris: ['https://app.example/callback'],
});
const documents = (trustedHosts = ['127.0.0.1']) =>
  createClientDocuments({
    upstream: createUpstream({ egress: createEgressPolicy({ trustedHosts }) }),
    now: () => clock.at,
  });

test('a document is asked for once however many want it, and again when it is no longer fresh', async () => {
  const { read, known } = documents();
  const id = `${site.origin}/client.json`;
  expect(known(id)).toBeNull();
  const clients = await Promise.all(Array.from({ length: 10 }, () => read(id)));
  expect(new Set(clients.map(({ name }) => name))).toEqual(new Set(['Notes']));
  expect(asked).toBe(1);
  clock.at = 599_000;
  expect(known(id)?.id).toBe(id);
  clock.at = 601_000;
  expect(known(id)).toBeNull();
  await read(id);
  expect(asked).toBe(2);
});

test('its own Cache-Control decides, within bounds', async () => {
  const { read, known } = documents();
  for (const [caching, seconds] of [
    ['max-age=3600', 3_600],
    ['max-age=1', 60],
    ['no-store', 60],
    ['max-age=999999999', 86_400],
  ] as const) {
    clock.at = 0;
    const id = `${site.origin}/${encodeURIComponent(caching)}`;
    answer = (url) => Response.json(described(url), { headers: { 'cache-control': caching } });
    await read(id);
    clock.at = seconds * 1_000 - 1;
    expect(known(id)).not.toBeNull();
    clock.at = seconds * 1_000;
    expect(known(id)).toBeNull();
  }
});

const refused: Record<string, [() => Response, string]> = {
  'a redirect': [() => Response.redirect(`${site.origin}/other`), 'status 302'],
  'another status': [() => Response.json({}, { status: 201 }), 'status 201'],
  'a web page': [() => new Response('{}', { headers: { 'content-type': 'text/html' } }), 'application/json'],
  'no JSON': [() => new Response('{', { headers: { 'content-type': 'application/json' } }), 'no JSON object'],
  'a list': [() => Response.json([]), 'client_id'],
  'a secret': [
    () => Response.json({ ...described(`${site.origin}/client.json`), client_secret: 'x' }),
    'client_secret',
  ],
  'a flood': [() => Response.json({ ...described(''), more: 'x'.repeat(100_000) }), '65536'],
};
for (const [name, [given, why]] of Object.entries(refused)) {
  test(`${name} is no description, and is not remembered`, async () => {
    const { read } = documents();
    const id = `${site.origin}/client.json`;
    answer = given;
    expect(await read(id).catch((error: Error) => error.message)).toContain(why);
    answer = (url) => Response.json(described(url));
    expect((await read(id)).id).toBe(id);
  });
}

test('nothing is asked where the gateway may not call', async () => {
  const { read } = documents([]);
  expect(await read(`${site.origin}/client.json`).catch((error: Error) => error.message)).toContain(
    'TRUSTED_CUSTOM_HOSTS',
  );
  expect(asked).toBe(0);
});

test('one client has one address', () => {
  expect(isDocumentAddress('https://app.example/client.json')).toBe(true);
  for (const id of [
    'https://app.example/',
    'https://app.example',
    'https://app.example/a/../client.json',
    'https://APP.example/client.json',
    'https://app.example:443/client.json',
    'https://user@app.example/client.json',
    'https://app.example/client.json#x',
    'ftp://app.example/client.json',
    'client.json',
  ])
    expect(isDocumentAddress(id)).toBe(false);
});
