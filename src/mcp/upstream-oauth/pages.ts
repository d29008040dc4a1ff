import { html, page } from '../../http/page.ts';

/** What users see while they connect their account at an MCP server. Plain HTML: a form needs no script. */

export interface SignInView {
  readonly action: string;
  /** Where signing in through the identity provider begins; null without one. */
  readonly provider: string | null;
  readonly email?: string;
  readonly problem?: { readonly status: number; readonly message: string };
}

export const signInPage = ({ action, provider, email = '', problem }: SignInView): Response =>
  page({
    title: 'Sign in',
    status: problem?.status ?? 200,
    body: html`<h1>Sign in to the gateway</h1>
${problem ? html`<p class="warn" role="alert">${problem.message}</p>` : html`<p>Then you can connect your account at the MCP server.</p>`}
<form method="post" action="${action}">
<label>Email<input type="email" name="email" value="${email}" autocomplete="username" required autofocus></label>
<label>Password<input type="password" name="password" autocomplete="current-password" required></label>
<button class="main">Sign in</button>
</form>
${provider && html`<p class="or">or</p><a class="button" href="${provider}">Continue with your identity provider</a>`}`,
  });

export interface ConnectView {
  readonly path: string;
  readonly csrf: string;
  readonly email: string;
  readonly server: { readonly name: string; readonly url: string };
  /** Null: not connected. */
  readonly connection: { readonly issuer: string | null; readonly scope: string | null; readonly at: number } | null;
}

export function connectPage({ path, csrf, email, server, connection }: ConnectView): Response {
  return page({
    title: `Connect ${server.name}`,
    body: html`<h1>${connection ? `You are connected to “${server.name}”` : `Connect your account at “${server.name}”`}</h1>
<dl>
<dt>Server</dt><dd>${new URL(server.url).host}</dd>
<dt>You are</dt><dd>${email}</dd>
${connection && html`<dt>Since</dt><dd>${new Date(connection.at).toISOString().slice(0, 16).replace('T', ' ')} UTC</dd>`}
${connection?.issuer ? html`<dt>Granted by</dt><dd>${connection.issuer}</dd>` : null}
${connection?.scope ? html`<dt>Scope</dt><dd>${connection.scope}</dd>` : null}
</dl>
${
  connection
    ? html`<p>Calls of yours reach this server with your account there. You can close this page.</p>`
    : html`<p>The server sends you to its own sign-in. What you allow there, the gateway keeps sealed and uses for your calls of this server alone.</p>
<p class="warn">Connect only if you have come here on your own, or from an application that you use yourself.</p>`
}
<form method="post" action="${path}">
<input type="hidden" name="csrf" value="${csrf}">
<button class="main">${connection ? 'Connect again' : 'Connect'}</button>
</form>
${
  connection &&
  html`<form method="post" action="${path}/disconnect" class="last">
<input type="hidden" name="csrf" value="${csrf}">
<button>Disconnect</button>
</form>`
}`,
  });
}

/**
 * Sends the browser on. Not by a redirect: that would count as the end of the form, and forms of our pages lead nowhere
 * but to us, while the way through an authorization server may lead over hosts that the gateway does not know.
 */
export const departurePage = (location: string): Response =>
  page({
    title: 'One moment',
    headers: { refresh: `0;url=${location}` },
    body: html`<h1>One moment</h1>
<p>You are being sent to <a href="${location}" rel="noreferrer">${new URL(location).host}</a>.</p>`,
  });

export const problemPage = (status: number, message: string, again: string | null): Response =>
  page({
    title: 'This did not work',
    status,
    body: html`<h1>This did not work</h1>
<p>${message}</p>
${again && html`<a class="button" href="${again}">Back</a>`}`,
  });
