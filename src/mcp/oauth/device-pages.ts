import type { LoginPlace } from '../../auth/logins/logins.ts';
import { type Html, html, page } from '../../http/page.ts';
import { DEVICE_PAGE } from './paths.ts';

/** What people see who let a program in by a code. */

export function askCodePage({
  email,
  problem,
}: {
  readonly email: string;
  readonly problem?: { readonly status: number; readonly message: string };
}): Response {
  return page({
    title: 'Let a program in',
    status: problem?.status ?? 200,
    body: html`<h1>Let a program in</h1>
${problem ? html`<p class="warn" role="alert">${problem.message}</p>` : html`<p>Type the code that the program shows you.</p>`}
<form method="get" action="${DEVICE_PAGE}">
<label>Code<input name="user_code" placeholder="XXXX-XXXX" autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="20" required autofocus></label>
<button class="main">Go on</button>
</form>
<p class="soft last">You are ${email}.</p>`,
  });
}

export interface AllowView {
  readonly ticket: string;
  readonly email: string;
  readonly userCode: string;
  readonly clientName: string;
  readonly places: readonly LoginPlace[];
  readonly refreshDays: number;
}

export function allowPage({ ticket, email, userCode, clientName, places, refreshDays }: AllowView): Response {
  return page({
    title: 'Let this program in?',
    body: html`<h1>Let “${clientName}” in?</h1>
<dl>
<dt>Code</dt><dd><strong>${userCode}</strong></dd>
<dt>Program</dt><dd>${clientName}<br><span class="soft">so it calls itself; its name was not checked</span></dd>
<dt>You are</dt><dd>${email}</dd>
</dl>
<p>It will be able to:</p>
<ul>
<li>call models as you, within the budgets of the workspace for its members</li>
<li>go on doing so until it has been away for ${refreshDays} days, you end it in the console, or you lose access</li>
</ul>
<p class="warn">Allow it only if you have just begun this yourself, and your program shows this very code. Nobody else has a reason to send you one.</p>
<form method="post" action="${DEVICE_PAGE}">
<input type="hidden" name="ticket" value="${ticket}">
<label>Workspace<select name="workspace">
${places.map(({ id, name }) => html`<option value="${id}">${name}</option>`)}
</select></label>
<div class="choices">
<button name="decision" value="deny">Cancel</button>
<button class="main" name="decision" value="allow">Allow</button>
</div>
${switchUser()}
</form>`,
  });
}

/** For a user of whom no workspace lets programs in. */
export function noPlacePage({ ticket, email }: Pick<AllowView, 'ticket' | 'email'>): Response {
  return page({
    title: 'No workspace',
    status: 403,
    body: html`<h1>You cannot let programs in</h1>
<p>No workspace lets ${email} have keys of their own. Ask an administrator to allow that to its members.</p>
<form method="post" action="${DEVICE_PAGE}">
<input type="hidden" name="ticket" value="${ticket}">
<button name="decision" value="deny">Cancel</button>
${switchUser()}
</form>`,
  });
}

export const decidedPage = (decision: 'allowed' | 'denied'): Response =>
  decision === 'allowed'
    ? page({
        title: 'Let in',
        body: html`<h1>The program is let in</h1>
<p>Go back to it: it goes on by itself in a moment. You can close this page.</p>`,
      })
    : page({
        title: 'Not let in',
        body: html`<h1>The program was not let in</h1>
<p>You can close this page.</p>`,
      });

const switchUser = (): Html =>
  html`<p class="soft last">Not you? <button class="plain" name="decision" value="switch">Sign in as another user</button></p>`;
