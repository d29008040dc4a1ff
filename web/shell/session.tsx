import { createContext, type ReactNode, useContext } from 'react';
import type { ResponseOf } from '../api/client.ts';
import { rememberWorkspace } from '../api/who.ts';

export type Session = ResponseOf<'/v1/sessions/current'>;
export type Scope = Session['scopes'][number];

const SessionContext = createContext<Session | null>(null);

export const SessionProvider = ({ session, children }: { readonly session: Session; readonly children: ReactNode }) => (
  <SessionContext value={session}>{children}</SessionContext>
);

/** Who is signed in, where they act, and what they may do there. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error('No session around this component.');
  return session;
}

/** Whether the signed-in user holds all of these scopes. What it refuses, the server refuses, too. */
export function useMay(): (...scopes: readonly Scope[]) => boolean {
  const { scopes } = useSession();
  return (...needed) => needed.every((scope) => scopes.includes(scope));
}

/** The workspace that pages are about: many lists take its id as `workspace_id`. */
export const useWorkspace = (): Session['workspace'] => useSession().workspace;

export const nameOf = ({ first_name, last_name, username, email }: Session['user']): string =>
  [first_name, last_name].filter(Boolean).join(' ') || username || email;

/** Rights differ between workspaces, so the console begins anew in the other one. */
export function goToWorkspace(slug: string) {
  rememberWorkspace(slug);
  const url = new URL(location.href);
  url.searchParams.set('workspace', slug);
  location.assign(url);
}
