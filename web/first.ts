import { defaultParseSearch } from '@tanstack/react-router';
import { askEarly, type Question } from './api/early.ts';
import { askWho, hasToken, knownRights } from './api/who.ts';
import { questions as ofExplore } from './pages/explore/questions.ts';
import { questions as ofLogs } from './pages/logs/questions.ts';
import { questions as ofOverview } from './pages/overview/questions.ts';
import { type OpenedView, read } from './shell/reach.ts';

/** Runs before everything else: a dark page must not flash white, and every page waits for who is signed in. */
const stored = localStorage.getItem('gateway.theme');
const isDark = stored === 'dark' || (stored !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
const page = document.documentElement;
page.dataset.theme = isDark ? 'dark' : 'light';

/** Pages that wait for what they ask; by their address. */
const QUESTIONS: Readonly<Record<string, (view: OpenedView) => Question[]>> = {
  '/console/overview': ofOverview,
  '/console/explore': ofExplore,
  '/console/logs': ofLogs,
};

if (!hasToken()) {
  askWho();
  // A browser with the cookie of a session is most likely signed in, and may do what it could the last time.
  const known = page.dataset.opens === 'shell' ? knownRights() : null;
  const questions = QUESTIONS[location.pathname];
  if (known && questions) {
    const search = defaultParseSearch(location.search);
    const view = { workspace: known.workspace, search, reach: read(search), now: Date.now() };
    const asked = questions(view).filter(({ scopes }) => scopes.every((scope) => known.scopes.includes(scope)));
    askEarly(asked, { at: view.now, workspace: known.workspace.slug });
  }
}
