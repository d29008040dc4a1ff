import { type Html, html, page } from '../../http/page.ts';
import type { OwnConnection } from './own-connections.ts';

/** What users see while they connect their account at an MCP server. Plain HTML: a form needs no script. */

export interface SignInView {
  /** Null: it has no name. */
  readonly organisation: string | null;
  readonly action: string;
  /** Where signing in through the identity provider begins; null without one. */
  readonly provider: string | null;
  readonly email?: string;
  readonly problem?: { readonly status: number; readonly message: string };
}

export const signInPage = ({ organisation, action, provider, email = '', problem }: SignInView): Response =>
  page({
    title: 'Sign in',
    status: problem?.status ?? 200,
    body: html`<h1>Sign in to ${organisation === null ? 'the gateway' : `the gateway of ${organisation}`}</h1>
${problem ? html`<p class="warn" role="alert">${problem.message}</p>` : html`<p>Then you can connect your accounts at MCP servers.</p>`}
<form method="post" action="${action}">
<label>Email<input type="email" name="email" value="${email}" autocomplete="username" required autofocus></label>
<label>Password<input type="password" name="password" autocomplete="current-password" required></label>
<button class="main">Sign in</button>
</form>
${provider && html`<p class="or">or</p><a class="button" href="${provider}">Continue with your identity provider</a>`}`,
  });

export interface ConnectView {
  readonly path: string;
  /** The query of the address, which the way to the server takes along. */
  readonly more: string;
  readonly csrf: string;
  readonly email: string;
  readonly server: { readonly name: string; readonly url: string };
  /** Null: not connected. */
  readonly connection: { readonly issuer: string | null; readonly scope: string | null; readonly at: number } | null;
}

export function connectPage({ path, more, csrf, email, server, connection }: ConnectView): Response {
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
<form method="post" action="${path}${more}">
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

export interface IndexView {
  readonly email: string;
  readonly servers: readonly OwnConnection[];
}

/** All servers of a user: which need an account of theirs, and whether there is one. */
export function indexPage({ email, servers }: IndexView): Response {
  const workspaces = [...new Map(servers.map(({ workspace }) => [workspace.id, workspace])).values()];
  return page({
    title: 'Your MCP servers',
    body: html`<h1>Your MCP servers</h1>
<p>${servers.length === 0 ? `There is none that ${email} may call.` : `Those that ${email} may call.`}</p>
${workspaces.map(
  ({ id, name }) => html`<dl aria-label="Servers of ${name}">
<dt>Workspace</dt><dd>${name}</dd>
${servers.filter(({ workspace }) => workspace.id === id).map(serverLine)}
</dl>`,
)}`,
  });
}

const serverLine = ({ server, name, endpoint, needs_account, is_connected }: OwnConnection): Html =>
  html`<dt>${name}</dt><dd><span class="soft">${endpoint}</span><br>${
    needs_account
      ? html`${is_connected ? 'Connected. ' : 'Not connected. '}<a href="/connect/${encodeURIComponent(server)}">${is_connected ? 'See or end it' : 'Connect your account'}</a>`
      : 'Needs no account of yours.'
  }</dd>
`;

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
