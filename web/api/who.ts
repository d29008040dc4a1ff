/** Where the answer to the first question lies: a script that is no module cannot hand it on. */
const asked = globalThis as { gatewayWho?: Promise<Response> };

const STORED = 'gateway.workspace';
const PARAM = 'workspace';

/** The workspace that the address names, else the one that was used last in this browser. */
export const chosenWorkspace = (): string =>
  new URLSearchParams(location.search).get(PARAM) ?? localStorage.getItem(STORED) ?? '';
export const rememberWorkspace = (slug: string) => localStorage.setItem(STORED, slug);
export const forgetWorkspace = () => localStorage.removeItem(STORED);

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
