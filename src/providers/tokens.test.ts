import { describe, expect, test } from 'bun:test';
import { GatewayError } from '../core/errors.ts';
import { createTokenSource } from './tokens.ts';

const unreachable = () => Promise.reject(new Error('no network in this test'));

function sourceAt(start: number) {
  const clock = { now: start };
  const source = createTokenSource({ send: unreachable, now: () => clock.now });
  let fetched = 0;
  const fetchToken = async () => ({ value: `token-${++fetched}`, expiresAt: clock.now + 3_600_000 });
  return { clock, source, fetchToken, fetches: () => fetched };
}

describe('the token cache', () => {
  test('a hundred callers that wait for one token cause one fetch', async () => {
    const { source } = sourceAt(0);
    const gate = Promise.withResolvers<void>();
    let fetched = 0;
    const waiting = Array.from({ length: 100 }, () =>
      source.get('key', async () => {
        fetched++;
        await gate.promise;
        return { value: 'shared', expiresAt: 3_600_000 };
      }),
    );
    gate.resolve();

    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['shared']));
    expect(fetched).toBe(1);
  });

  test('a token is renewed a minute before it expires', async () => {
    const { clock, source, fetchToken } = sourceAt(0);
    expect(await source.get('key', fetchToken)).toBe('token-1');
    clock.now = 3_600_000 - 60_001;
    expect(await source.get('key', fetchToken)).toBe('token-1');
    clock.now = 3_600_000 - 60_000;
    expect(await source.get('key', fetchToken)).toBe('token-2');
  });

  test('a failure is not remembered', async () => {
    const { source, fetchToken } = sourceAt(0);
    const failing = () => {
      throw new Error('down');
    };
    await expect(source.get('key', failing)).rejects.toThrow('down');
    await expect(source.get('key', () => Promise.reject(new Error('still down')))).rejects.toThrow('down');
    expect(await source.get('key', fetchToken)).toBe('token-1');
  });

  test('a thousand tokens are kept, the least recently used one goes', async () => {
    const { source, fetchToken, fetches } = sourceAt(0);
    for (let n = 0; n < 1000; n++) await source.get(`key-${n}`, fetchToken);
    await source.get('key-0', fetchToken);
    await source.get('one more', fetchToken);
    expect(fetches()).toBe(1001);
    await source.get('key-0', fetchToken);
    expect(fetches()).toBe(1001);
    await source.get('key-1', fetchToken);
    expect(fetches()).toBe(1002);
  });
});

describe('posting a form', () => {
  const answering = (response: () => Response) =>
    createTokenSource({ send: () => Promise.resolve(response()), now: () => 0 });
  const refused = async (response: () => Response, form: Record<string, string> = { grant_type: 'x' }) => {
    const error = await answering(response)
      .postForm('vertex-ai', 'https://tokens.example.com/token', form)
      .catch((error: unknown) => error);
    expect(error).toBeInstanceOf(GatewayError);
    expect((error as GatewayError).code).toBe('credential_rejected');
    return (error as GatewayError).message;
  };

  test('sends the fields once and follows no redirect', async () => {
    const sent: [string, RequestInit][] = [];
    const source = createTokenSource({
      send: async (url, init) => {
        sent.push([url, init]);
        return Response.json({ access_token: 't' });
      },
      now: () => 0,
    });
    const form = { a: '1 2', b: '&' };
    expect(await source.postForm('x', 'https://tokens.example.com/token', form, { 'x-extra': 'y' })).toEqual({
      access_token: 't',
    });
    expect(sent[0]![0]).toBe('https://tokens.example.com/token');
    expect(sent[0]![1]).toMatchObject({ method: 'POST', body: 'a=1+2&b=%26', redirect: 'manual' });
    expect(sent[0]![1].headers).toMatchObject({ 'x-extra': 'y', accept: 'application/json' });
  });

  test("tells the vendor's reason", async () => {
    const answer = { error: 'invalid_grant', error_description: 'Invalid JWT Signature.' };
    expect(await refused(() => Response.json(answer, { status: 400 }))).toBe(
      'Provider vertex-ai issued no access token for the stored credential: Invalid JWT Signature.',
    );
    const aws = { Error: { Code: 'AccessDenied', Message: 'not authorized to perform sts:AssumeRole' } };
    expect(await refused(() => Response.json(aws, { status: 403 }))).toContain('not authorized');
  });

  test('never repeats the credential, however the vendor quotes it', async () => {
    const answer = { error_description: 'secret hunter2hunter2 is wrong\r\nTrace: 1' };
    const message = await refused(() => Response.json(answer, { status: 401 }), { client_secret: 'hunter2hunter2' });
    expect(message).toContain('secret [secret] is wrong Trace: 1');
    expect(message).not.toContain('hunter2');
  });

  test('an answer that is no JSON, a redirect and an endless body are refusals', async () => {
    expect(await refused(() => new Response('<html>', { status: 200 }))).toContain('tokens.example.com answered 200');
    expect(await refused(() => Response.redirect('https://evil.example/', 302))).toContain('answered 302');
    const endless = () =>
      new Response(new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(65_536).fill(32)) }));
    expect(await refused(endless)).toContain('answered 200');
  });

  test('a network failure says so; an egress refusal keeps its own code', async () => {
    const source = createTokenSource({ send: unreachable, now: () => 0 });
    await expect(source.postForm('x', 'https://tokens.example.com/', {})).rejects.toThrow(
      'tokens.example.com did not answer',
    );
    const refusing = createTokenSource({
      send: () => Promise.reject(new GatewayError('egress_refused', ['tokens.example.com', 'it is private.'])),
      now: () => 0,
    });
    await expect(refusing.postForm('x', 'https://tokens.example.com/', {})).rejects.toMatchObject({
      code: 'egress_refused',
    });
  });
});
