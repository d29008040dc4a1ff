import type { Reply, TestGateway } from './gateway.ts';

export const PASSWORD = 'correct horse battery';

/** A browser that keeps its cookie and sends what our own pages would. */
export interface Browser {
  readonly headers: Readonly<Record<string, string>>;
  readonly signedIn: Reply;
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>;
}

export const cookieIn = (reply: { headers: Headers }): string => reply.headers.get('set-cookie')?.split(';')[0] ?? '';

export async function signIn({ api }: TestGateway, email: string, password = PASSWORD): Promise<Browser> {
  const signedIn = await api.post('/v1/sessions', { email, password }, { key: null });
  if (signedIn.status !== 200) throw new Error(`signing in answered ${signedIn.status}: ${signedIn.text}`);
  const headers = { cookie: cookieIn(signedIn), 'x-gateway-csrf': signedIn.json.csrf_token };
  return {
    headers,
    signedIn,
    call: (method, path, body, more = {}) =>
      api.call(method, path, { key: null, headers: { ...headers, ...more }, body }),
  };
}

let count = 0;

/** A user, made by the admin key. */
export async function givenUser({ api }: TestGateway, over: Record<string, unknown> = {}) {
  const reply = await api.post('/v1/admin/users', {
    email: `person-${count++}@example.com`,
    role: 'member',
    ...over,
  });
  if (reply.status !== 200) throw new Error(`no user: ${reply.status} ${reply.text}`);
  return reply.json;
}

/** A user of that role who has signed in. */
export async function givenBrowser(gateway: TestGateway, over: Record<string, unknown> = {}) {
  const user = await givenUser(gateway, { password: PASSWORD, ...over });
  return { user, browser: await signIn(gateway, user.email) };
}
