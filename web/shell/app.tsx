import { CSPProvider } from '@base-ui/react/csp-provider';
import { Tooltip } from '@base-ui/react/tooltip';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import {
  createBrowserHistory,
  createRootRoute,
  createRoute,
  createRouter,
  type ErrorComponentProps,
  lazyRouteComponent,
  RouterProvider,
  retainSearchParams,
} from '@tanstack/react-router';
import { createRoot } from 'react-dom/client';
import { leaveEarly } from '../api/early.ts';
import { ApiFault } from '../api/fault.ts';
import { rememberRights, rememberWorkspace } from '../api/who.ts';
import { EmptyState, ErrorNote } from '../design/states.tsx';
import { ToastPlace } from '../design/toast.tsx';
import { type Opening, PAGES, type Page } from '../pages.ts';
import { Shell } from './layout.tsx';
import { type Session, SessionProvider } from './session.tsx';

const BASE = '/console';
const MINUTE = 60_000;

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 20_000,
      gcTime: 10 * MINUTE,
      // What the gateway has refused, it will refuse again.
      retry: (count, error) => count < 2 && !(error instanceof ApiFault && error.status >= 400 && error.status < 500),
    },
  },
});

const Failed = ({ error, reset }: ErrorComponentProps) => <ErrorNote error={error} onRetry={reset} />;
const Missing = () => (
  <EmptyState icon="search" title="There is no such page">
    The address may be old. Press <kbd>⌘</kbd> <kbd>K</kbd> to find what you are looking for.
  </EmptyState>
);
const Refused = () => (
  <EmptyState icon="lock" title="This page is not open to you">
    Your role in this workspace does not allow it. Ask an administrator, or switch to another workspace.
  </EmptyState>
);

const mayOpen = ({ scopes }: Page, session: Session) => scopes.every((scope) => session.scopes.includes(scope));

/** A page is drawn once, with its answers, where they come so soon. To draw and paint places that wait for them would take as long. */
const SOON_MS = 250;
const soon = () => new Promise<void>((resolve) => setTimeout(resolve, SOON_MS));

const asked = (page: Page, opening: Opening): Promise<unknown> =>
  page.load().then(
    ({ ask }) => {
      const answered = ask?.(queries, opening);
      leaveEarly();
      return answered && Promise.race([answered, soon()]);
    },
    // The router says that the page could not be loaded.
    leaveEarly,
  );

function routerFor(session: Session) {
  const root = createRootRoute({
    component: Shell,
    notFoundComponent: Missing,
    errorComponent: Failed,
    // The workspace stays in the address, so that a link leads others to the same place.
    validateSearch: (search: Record<string, unknown>): Record<string, unknown> => search,
    search: { middlewares: [retainSearchParams(['workspace'])] },
  });
  const routes = PAGES.map((page) => {
    const isOpen = mayOpen(page, session);
    return createRoute({
      getParentRoute: () => root,
      path: page.path,
      component: isOpen ? lazyRouteComponent(page.load) : Refused,
      loader: ({ cause, location }) => {
        // A pointer above a link is no wish to see the page.
        if (cause !== 'enter') return;
        if (isOpen) return asked(page, { session, search: location.search });
        leaveEarly();
      },
      errorComponent: Failed,
    });
  });
  return createRouter({
    routeTree: root.addChildren(routes),
    history: createBrowserHistory(),
    basepath: BASE,
    defaultPreload: 'intent',
    defaultPendingMs: 200,
    scrollRestoration: true,
  });
}

/** Loads the script of a page, before it is known who opens it; one with a parameter in its path comes with the router. */
export function makeReady(pathname: string) {
  const page = PAGES.find(({ path }) => BASE + path === pathname);
  // The router says that it could not be loaded.
  page?.load().catch(() => {});
}

export async function open(root: HTMLElement, session: Session) {
  rememberWorkspace(session.workspace.slug);
  rememberRights(session);
  const router = routerFor(session);
  // Shell and page are drawn at once.
  await router.load();
  createRoot(root).render(
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queries}>
        <SessionProvider session={session}>
          <Tooltip.Provider delay={350}>
            <RouterProvider router={router} />
            <ToastPlace />
          </Tooltip.Provider>
        </SessionProvider>
      </QueryClientProvider>
    </CSPProvider>,
  );
}
