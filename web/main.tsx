import type { ResponseOf } from './api/client.ts';
import { speakAs } from './api/client.ts';
import { leaveEarly } from './api/early.ts';
import { faultOf } from './api/fault.ts';
import { chosenWorkspace, forgetWorkspace, hasToken, whoIsAnywhere, whoIsThere } from './api/who.ts';

/** Why nobody is signed in, where a visitor has to do something about it. */
let notice: string | null = null;

const unanswered = (): never => {
  throw new Error('The gateway does not answer.');
};

/** The session of this browser; null: nobody is signed in. */
async function currentSession(): Promise<ResponseOf<'/v1/sessions/current'> | null> {
  const asked = await whoIsThere().catch(unanswered);
  if (asked.ok) return asked.json();
  if (asked.status === 401) {
    const { code, message } = await faultOf(asked);
    if (code === 'two_sessions') notice = message;
  }
  if (asked.status !== 403 || !chosenWorkspace()) return null;
  // The workspace is gone, or the user has left it: the gateway chooses another.
  forgetWorkspace();
  const again = await whoIsAnywhere().catch(unanswered);
  return again.ok ? again.json() : null;
}

const root = document.getElementById('root')!;
// Both kinds of page need React: it is on its way while the gateway says who is there.
const react = import('react-dom/client');
const shell = () => import('./shell/app.tsx');
// A browser with the cookie of a session is most likely signed in: the scripts of the shell and of the page run meanwhile.
if (document.documentElement.dataset.opens === 'shell')
  void shell().then(
    ({ makeReady }) => makeReady(location.pathname),
    // Said when the shell is opened.
    () => {},
  );
try {
  const session = hasToken() ? null : await currentSession();
  await react;
  if (session) {
    speakAs({ csrfToken: session.csrf_token, workspace: session.workspace.slug });
    await (await shell()).open(root, session);
  } else {
    leaveEarly();
    (await import('./doors/doors.tsx')).open(root, notice);
  }
} catch (error) {
  root.textContent = `The console could not be opened: ${error instanceof Error ? error.message : error} Load the page again.`;
}
