import { createServer, type RequestListener } from 'node:http';
import * as oidcProvider from 'oidc-provider';

/** The package brings no types. */
const { Provider } = oidcProvider as unknown as {
  Provider: new (issuer: string, configuration: object) => { callback(): RequestListener };
};

export interface Person {
  readonly email: string;
  readonly email_verified: boolean;
  readonly given_name?: string;
  readonly family_name?: string;
}

export const CLIENT = { id: 'gateway', secret: 'a secret that only tests know' };

/** A real OpenID Connect provider on a free port. Whom it knows, it lets in with any password. */
export async function startIdentityProvider() {
  const people = new Map<string, Person>();
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const issuer = `http://127.0.0.1:${port}`;
  return {
    issuer,
    people,
    /** Begins to answer, once it is known where people are sent back to. */
    serve(redirectUri: string) {
      const provider = new Provider(issuer, {
        clients: [{ client_id: CLIENT.id, client_secret: CLIENT.secret, redirect_uris: [redirectUri] }],
        claims: { email: ['email', 'email_verified'], profile: ['given_name', 'family_name'] },
        cookies: { keys: ['only for tests'] },
        pkce: { required: () => true },
        findAccount: (_context: unknown, sub: string) => {
          const person = people.get(sub);
          return person && { accountId: sub, claims: async () => ({ sub, ...person }) };
        },
      });
      server.on('request', provider.callback());
    },
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

export type IdentityProvider = Awaited<ReturnType<typeof startIdentityProvider>>;

/** As much of a browser as signing in needs: cookies by host, one page after the other. */
export class Visitor {
  readonly cookies = new Map<string, Map<string, string>>();

  async open(url: string, form?: Record<string, string>): Promise<Response> {
    const { host } = new URL(url);
    const jar = this.cookies.get(host) ?? new Map<string, string>();
    this.cookies.set(host, jar);
    const response = await fetch(url, {
      method: form ? 'POST' : 'GET',
      redirect: 'manual',
      headers: {
        cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; '),
        // Browsers say of every form where it is from.
        ...(form && { origin: new URL(url).origin }),
      },
      body: form && new URLSearchParams(form),
    });
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';');
      const [name = '', ...value] = pair.split('=');
      jar.set(name, value.join('='));
    }
    return response;
  }

  /** Follows where it is sent while it is sent there, at most so far as `isThere` says. */
  async follow(start: string, isThere: (url: string) => boolean): Promise<string> {
    let url = start;
    for (let step = 0; step < 10 && !isThere(url); step++) {
      const response = await this.open(url);
      const location = response.headers.get('location');
      if (!location) return url;
      url = new URL(location, url).href;
    }
    return url;
  }

  /** Signs in and consents at the provider. Answers where the provider sends the visitor back to. */
  async passThrough(authorization: string, sub: string, back: string): Promise<string> {
    const isBack = (url: string) => url.startsWith(back);
    let page = await this.follow(authorization, isBack);
    const forms: Record<string, string>[] = [{ prompt: 'login', login: sub, password: 'any' }, { prompt: 'consent' }];
    for (const form of forms) {
      if (isBack(page)) break;
      const action = /action="([^"]+)"/.exec(await (await this.open(page)).text())?.[1];
      if (!action) throw new Error(`no form at ${page}`);
      const response = await this.open(new URL(action, page).href, form);
      page = await this.follow(new URL(response.headers.get('location') ?? '', page).href, isBack);
    }
    return page;
  }
}
