/** Where the answer to the first question lies: a script that is no module cannot hand it on. */
const asked = globalThis as { gatewayWho?: Promise<Response> };

const STORED = 'gateway.workspace';
const KNOWN = 'gateway.rights';
const PARAM = 'workspace';

/** The workspace that the address names, else the one that was used last in this browser. */
export const chosenWorkspace = (): string =>
  new URLSearchParams(location.search).get(PARAM) ?? localStorage.getItem(STORED) ?? '';
export const rememberWorkspace = (slug: string) => localStorage.setItem(STORED, slug);
export function forgetWorkspace() {
  localStorage.removeItem(STORED);
  localStorage.removeItem(KNOWN);
}

/** Where the user of this browser acted last, and what was allowed there: a guess, which the gateway judges as anything else. */
interface Known {
  readonly workspace: { readonly id: string; readonly slug: string };
  readonly scopes: readonly string[];
}

export function rememberRights({ workspace: { id, slug }, scopes }: Known) {
  localStorage.setItem(KNOWN, JSON.stringify({ workspace: { id, slug }, scopes } satisfies Known));
}

/** Null: nothing is known of the workspace that is meant. */
export function knownRights(): Known | null {
  try {
    const { workspace, scopes } = JSON.parse(localStorage.getItem(KNOWN) ?? '') as Known;
    const isWhole = typeof workspace.id === 'string' && Array.isArray(scopes);
    return isWhole && workspace.slug !== '' && workspace.slug === chosenWorkspace() ? { workspace, scopes } : null;
  } catch {
    // Nothing is kept, or something that is not ours.
    return null;
  }
}

/** Links that let people in carry their token behind `#`, where servers and logs do not see it. */
export const hasToken = (): boolean => /^#(invite|owner)=/.test(location.hash);

const ask = (workspace: string): Promise<Response> =>
  fetch('/v1/sessions/current', workspace ? { headers: { 'x-gateway-workspace': workspace } } : {});

/** Asks who is signed in, before there is anything that could take the answer. */
export function askWho() {
  asked.gatewayWho = ask(chosenWorkspace());
  // Whoever takes the answer is told.
  asked.gatewayWho.catch(() => {});
}

/** What was answered, to that question or to one without a workspace. */
export const whoIsThere = (): Promise<Response> => asked.gatewayWho ?? ask(chosenWorkspace());
export const whoIsAnywhere = (): Promise<Response> => ask('');
