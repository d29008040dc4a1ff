import { createHash, randomBytes } from 'node:crypto';
import { type Reply, serve, type TestGateway } from '../gateway.ts';
import { Visitor } from '../identity-provider.ts';
import { cookieIn, givenUser, PASSWORD, signIn } from '../people.ts';
import { query } from '../state-tables.ts';

/** The other sides of the gateway's authorization server: an application, and a person at a browser. */

export interface Pkce {
  readonly verifier: string;
  readonly challenge: string;
}

export function newPkce(): Pkce {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}

export type Form = Readonly<Record<string, string>>;

/** A page as a person sees it: its text, and its form with the hidden fields. */
export interface SeenPage {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Where the browser is sent instead of seeing anything. */
  readonly location: string | null;
  readonly action: string | null;
  readonly hidden: Form;
}

async function seen(response: Response): Promise<SeenPage> {
  const text = await response.text();
  const fields = [...text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)];
  return {
    status: response.status,
    headers: response.headers,
    text,
    location: response.headers.get('location'),
    action: /<form method="post" action="([^"]+)"/.exec(text)?.[1] ?? null,
    hidden: Object.fromEntries(fields.map(([, name, value]) => [name!, value!])),
  };
}

/** A person at a browser without scripts. */
export class Person {
  readonly visitor = new Visitor();
  readonly #origin: string;
  readonly email: string;

  constructor(origin: string, email: string) {
    this.#origin = origin;
    this.email = email;
  }

  async open(path: string): Promise<SeenPage> {
    return seen(await this.visitor.open(new URL(path, this.#origin).href));
  }

  async submit(page: SeenPage, fields: Form): Promise<SeenPage> {
    if (!page.action) throw new Error(`there is no form: ${page.status} ${page.text}`);
    return seen(
      await this.visitor.open(new URL(page.action, this.#origin).href, { ...page.hidden, ...fields } as never),
    );
  }

  /** Opens the page of an authorization, and signs in where that is asked for. */
  async authorize(query: Form | string, password = PASSWORD): Promise<SeenPage> {
    const page = await this.open(`/oauth/authorize?${new URLSearchParams(query)}`);
    if (page.action !== '/oauth/sign-in') return page;
    const signedIn = await this.submit(page, { email: this.email, password });
    return signedIn.location === null ? signedIn : this.open(signedIn.location);
  }

  /** Goes all the way, and answers what the application is told. */
  async consent(query: Form | string, decision = 'allow'): Promise<URLSearchParams> {
    let page = await this.authorize(query);
    if (page.action === '/oauth/consent') page = await this.submit(page, { decision });
    if (page.location === null) throw new Error(`nobody is sent back: ${page.status} ${page.text}`);
    return new URL(page.location).searchParams;
  }
}

/** Where an application leads a person who is to let it use a server: the page that asks for their consent. */
export async function askingPath(gateway: TestGateway): Promise<string> {
  const clientId = `mcp-client-${randomBytes(16).toString('base64url')}`;
  const slug = `asked-${randomBytes(4).toString('hex')}`;
  const metadata = JSON.stringify({ redirect_uris: [CALLBACK], client_name: 'Test' });
  await query(gateway, `insert into mcp_clients values ('${clientId}', '${metadata}', ${Date.now()}, ${Date.now()})`);
  await gateway.api.post('/v1/mcp-servers', { name: slug, slug, url: `${gateway.provider.origin}/mcp` });
  return `/oauth/authorize?${new URLSearchParams(requestFor(gateway, { clientId, pkce: newPkce(), server: slug }))}`;
}

/** The forms of the sign-in and the consent page, filled in, with the cookies that go with them. */
export async function filledForms(gateway: TestGateway) {
  const path = await askingPath(gateway);
  const user = await givenUser(gateway, { password: PASSWORD });
  const browser = await signIn(gateway, user.email);
  const consent = await seen(await fetch(gateway.url + path, { headers: { cookie: browser.headers.cookie! } }));
  const signingIn = await seen(await fetch(gateway.url + path));
  const form = (cookie: string, fields: Form) => ({
    form: String(new URLSearchParams(fields)),
    as: { key: null, headers: { cookie, 'content-type': 'application/x-www-form-urlencoded' } },
    status: 303,
  });
  const asked = await fetch(`${gateway.url}/oauth/device_authorization`, { method: 'POST' });
  const { user_code } = (await asked.json()) as { user_code: string };
  await gateway.api.put('/v1/admin/workspaces/default', { member_keys: {} });
  const device = await seen(
    await fetch(`${gateway.url}/oauth/device?user_code=${user_code}`, { headers: { cookie: browser.headers.cookie! } }),
  );
  const workspace = /<option value="([^"]+)"/.exec(device.text)?.[1] ?? '';
  return {
    device: form(browser.headers.cookie!, { ...device.hidden, workspace, decision: 'allow' }),
    signIn: form(cookieIn(signingIn), { ...signingIn.hidden, email: user.email, password: PASSWORD }),
    consent: form(browser.headers.cookie!, { ...consent.hidden, decision: 'allow' }),
  };
}

/** An application that a user has let in, and the call by which they send it away. */
export async function ownApp(gateway: TestGateway) {
  const path = await askingPath(gateway);
  const user = await givenUser(gateway, { password: PASSWORD });
  await new Person(gateway.url, user.email).consent(path.slice(path.indexOf('?') + 1));
  const { headers } = await signIn(gateway, user.email);
  const as = { key: null, headers } as const;
  const [app] = (await gateway.api.get('/v1/own-apps', as)).json.data;
  return { path: `/v1/own-apps/${app.id}`, as };
}

/** A web site that describes applications. */
export function startClientSite() {
  const documents = new Map<string, Record<string, unknown>>();
  let asked = 0;
  const { origin, stop } = serve((request) => {
    asked++;
    const document = documents.get(new URL(request.url).pathname);
    return document ? Response.json(document) : new Response(null, { status: 404 });
  });
  return {
    origin,
    get asked() {
      return asked;
    },
    /** Answers the client id. */
    describe(name: string, more: Record<string, unknown> = {}): string {
      const id = `${origin}/${name}.json`;
      documents.set(`/${name}.json`, {
        client_id: id,
        client_name: `The ${name} application`,
        redirect_uris: [CALLBACK],
        token_endpoint_auth_method: 'none',
        ...more,
      });
      return id;
    },
    stop,
  };
}

export const CALLBACK = 'https://app.example/callback';

/** What an application asks for; members that are given replace those that are usual. */
export function requestFor(
  gateway: { readonly url: string },
  { clientId, pkce, server, ...more }: { clientId: string; pkce: Pkce; server: string } & Record<string, unknown>,
): Form {
  return {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: CALLBACK,
    code_challenge: pkce.challenge,
    code_challenge_method: 'S256',
    state: 'a state of its own',
    scope: 'mcp',
    resource: `${gateway.url}/${server}/mcp`,
    ...(more as Form),
  };
}

export const post = async (gateway: { readonly url: string }, path: string, form: Form) => {
  const response = await fetch(gateway.url + path, { method: 'POST', body: new URLSearchParams(form) });
  return { status: response.status, headers: response.headers, json: (await response.json()) as Reply['json'] };
};

export const redemption = (code: string, clientId: string, { verifier }: Pkce, more: Form = {}): Form => ({
  grant_type: 'authorization_code',
  code,
  client_id: clientId,
  redirect_uri: CALLBACK,
  code_verifier: verifier,
  ...more,
});

/** Tokens that a person has let an application have. */
export async function tokensFor(
  gateway: Pick<TestGateway, 'url'>,
  person: Person,
  { clientId, server }: { clientId: string; server: string },
) {
  const pkce = newPkce();
  const said = await person.consent(requestFor(gateway, { clientId, pkce, server }));
  const code = said.get('code');
  if (!code) throw new Error(`no code: ${said}`);
  const { status, json } = await post(gateway, '/oauth/token', redemption(code, clientId, pkce));
  if (status !== 200) throw new Error(`no tokens: ${JSON.stringify(json)}`);
  return {
    ...(json as { access_token: string; refresh_token: string; expires_in: number; scope: string }),
    code,
    pkce,
  };
}
