import { type Html, html, page } from '../../http/page.ts';
import type { ServerNames, WorkspaceChoice } from '../caller/access.ts';
import type { Client } from './client.ts';
import { destinationOf, isClaimed, isLoopback, policySourceOf } from './redirect-uris.ts';

/** What people see on the way to a token. Plain HTML: a form needs no script. */

export interface SignInView {
  /** Null: it has no name. */
  readonly organisation: string | null;
  readonly ticket: string;
  /** Host of the identity provider, and where the way to it begins. */
  readonly provider: { readonly host: string; readonly link: string } | null;
  readonly email?: string;
  readonly problem?: { readonly status: number; readonly message: string };
  readonly formTargets: readonly string[];
  readonly cookie: string;
  /** Null: what asks is not known. */
  readonly application: AskingApplication | null;
}

/** What is known of an application before its user has signed in. */
export interface AskingApplication {
  /** As it calls itself; null: not looked up yet. */
  readonly name: string | null;
  /** Where its description comes from; null: it registered itself. */
  readonly host: string | null;
  /** Whether an administrator has registered it. */
  readonly isVouchedFor: boolean;
  readonly sendsTo: string;
}

export function signInPage(view: SignInView): Response {
  const { organisation, ticket, provider, email = '', problem, formTargets, cookie, application } = view;
  return page({
    title: 'Sign in',
    status: problem?.status ?? 200,
    formTargets,
    headers: { 'set-cookie': cookie },
    body: html`<h1>Sign in to ${organisation === null ? 'the gateway' : `the gateway of ${organisation}`}</h1>
${problem ? html`<p class="warn" role="alert">${problem.message}</p>` : html`<p>An application wants to act for you. Sign in to see what it asks for.</p>`}
${application && applicationLines(application)}
<form method="post" action="/oauth/sign-in">
<input type="hidden" name="ticket" value="${ticket}">
<label>Email<input type="email" name="email" value="${email}" autocomplete="username" required autofocus></label>
<label>Password<input type="password" name="password" autocomplete="current-password" required></label>
<button class="main">Sign in</button>
</form>
${provider && html`<p class="or">or</p><a class="button" href="${provider.link}">Continue with ${provider.host}</a>`}`,
  });
}

const VOUCHED_FOR = 'registered by an administrator of this gateway';
const UNCHECKED = 'registered itself; its name was not checked';

const applicationLines = ({ name, host, isVouchedFor, sendsTo }: AskingApplication): Html =>
  html`<dl>
<dt>Application</dt><dd>${name ?? host ?? 'unknown'}<br><span class="soft">${host ? `of ${host}` : isVouchedFor ? VOUCHED_FOR : UNCHECKED}</span></dd>
<dt>Sends you to</dt><dd>${sendsTo}</dd>
</dl>`;

export interface ConsentView {
  readonly ticket: string;
  readonly client: Pick<Client, 'id' | 'name' | 'origin'>;
  readonly redirectUri: string;
  readonly email: string;
  /** What it gets: one server by its name, or all of a workspace. */
  readonly server: { readonly name: string; readonly workspace: string } | null;
  readonly resource: string;
  /** To choose from, where it is not one server. */
  readonly workspaces: readonly OfferedWorkspace[];
  readonly isRenewable: boolean;
  readonly refreshDays: number;
}

/** Null: there are too many workspaces to name the servers of each. */
interface OfferedWorkspace extends WorkspaceChoice {
  readonly servers: ServerNames | null;
}

export function consentPage(view: ConsentView): Response {
  const { ticket, client, redirectUri, email, server, resource, workspaces } = view;
  return page({
    title: `Allow ${client.name}?`,
    formTargets: [policySourceOf(redirectUri)],
    body: html`<h1>Allow “${client.name}” to use ${server ? `“${server.name}”` : 'your MCP servers'}?</h1>
<dl>
<dt>Application</dt><dd>${clientLine(client)}</dd>
<dt>Sends you to</dt><dd>${destinationOf(redirectUri)}</dd>
<dt>Server</dt><dd>${server ? html`${server.name}<br><span class="soft">${resource}</span>` : resource}</dd>
${server && html`<dt>Workspace</dt><dd>${server.workspace}</dd>`}
${workspaces.flatMap((each) => serverLines(each) ?? [])}
<dt>You are</dt><dd>${email}</dd>
</dl>
<p>It will be able to:</p>
<ul>
<li>see and call the tools, prompts and resources of ${server ? 'this server' : 'these servers'} as you</li>
${view.isRenewable && html`<li>go on doing so until it has been away for ${view.refreshDays} days, or you lose access</li>`}
</ul>
${warningFor(client, redirectUri)}
<form method="post" action="/oauth/consent">
<input type="hidden" name="ticket" value="${ticket}">
${workspaces.length > 0 && workspaceField(workspaces)}
<div class="choices">
<button name="decision" value="deny">Cancel</button>
<button class="main" name="decision" value="allow">Allow</button>
</div>
${switchUser()}
</form>`,
  });
}

/** For a user who signed in and may not call what the application asks for. */
export function noAccessPage({ ticket, client, redirectUri, email, resource }: NoAccessView): Response {
  return page({
    title: 'No access',
    status: 403,
    formTargets: [policySourceOf(redirectUri)],
    body: html`<h1>You cannot use this server</h1>
<p>“${client.name}” asks for ${resource}. There is no such MCP server that ${email} may call. Ask an administrator of its workspace to add you.</p>
<form method="post" action="/oauth/consent">
<input type="hidden" name="ticket" value="${ticket}">
<button name="decision" value="deny">Back to the application</button>
${switchUser()}
</form>`,
  });
}

export type NoAccessView = Pick<ConsentView, 'ticket' | 'client' | 'redirectUri' | 'email' | 'resource'>;

export const problemPage = (
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Response =>
  page({
    title: 'This did not work',
    status,
    headers,
    body: html`<h1>This did not work</h1>
<p>${message}</p>`,
  });

const switchUser = (): Html =>
  html`<p class="soft last">Not you? <button class="plain" name="decision" value="switch">Sign in as another user</button></p>`;

/** An application can choose any name, but not the host that its metadata come from. */
const clientLine = ({ id, name, origin }: ConsentView['client']): Html =>
  origin === 'document'
    ? html`${name}<br><span class="soft">of ${new URL(id).host}</span>`
    : html`${name}<br><span class="soft">${origin === 'administrator' ? VOUCHED_FOR : UNCHECKED}</span>`;

function warningFor({ origin }: ConsentView['client'], redirectUri: string): Html | null {
  if (isClaimed(redirectUri)) return origin === 'registration' ? CHECK_THE_ADDRESS : null;
  return isLoopback(redirectUri) ? OF_THIS_MACHINE : OF_AN_APPLICATION;
}
const CHECK_THE_ADDRESS = html`<p class="warn">Allow it only if you have just begun this yourself and know the address it sends you to.</p>`;
const OF_THIS_MACHINE = html`<p class="warn">It runs on your own computer, where any program could use its name. Allow it only if you have just begun this yourself.</p>`;
const OF_AN_APPLICATION = html`<p class="warn">It is a program on your own device, and another one could take its place. Allow it only if you have just begun this yourself.</p>`;

/** Servers that are added later are behind the same address. */
const serverLines = ({ name, servers }: OfferedWorkspace): Html | null =>
  servers &&
  html`<dt>Servers of ${name}</dt><dd>${servers.names.length === 0 ? 'none yet' : servers.names.join(', ')}${servers.more > 0 && ` and ${servers.more} more`}<br><span class="soft">and those that are added later</span></dd>`;

const workspaceField = (workspaces: readonly WorkspaceChoice[]): Html =>
  html`<label>Workspace<select name="workspace">
${workspaces.map(({ id, name }) => html`<option value="${id}">${name}</option>`)}
</select></label>`;
