import * as z from 'zod';
import { countryOf } from './audit/country.ts';
import { createSubjects, type Subject } from './audit/subject.ts';
import type { AuditedCaller, AuditTrail, Pending } from './audit/trail.ts';
import type { Principal } from './core/principal.ts';
import { headerOf, type SentHeaders } from './http/headers.ts';
import { readJson } from './http/input.ts';
import type { LoggedCaller, Route } from './http/route.ts';

interface Asked {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  readonly search: string;
  readonly headers: SentHeaders;
  readonly clientAddress: string;
}

export interface AuditingDeps {
  readonly trail: AuditTrail;
  readonly routes: readonly Route[];
  /** Whose record it is when the caller is unknown. */
  readonly organisationId: string;
  /** The header in which a trusted proxy says where the client is. */
  readonly countryHeader: string | null;
  /** Whether the client's address says it where no header does. */
  readonly hasCountryTable: boolean;
  readonly now: () => number;
}

const LONGEST_COUNTRY = 64;
const FAILED_SIGN_IN: Subject = { resource: 'authentication', action: 'authenticate' };

/** Which calls are recorded, and under what. */
export function createAuditing(deps: AuditingDeps) {
  const { trail, routes, organisationId, countryHeader, hasCountryTable, now } = deps;
  const subjectOf = createSubjects(routes);
  const open = (asked: Asked, subject: Subject): Pending => {
    const told = (countryHeader && headerOf(asked.headers, countryHeader)) || '';
    const country = told.slice(0, LONGEST_COUNTRY) || (hasCountryTable ? countryOf(asked.clientAddress) : '');
    return trail.open({ ...asked, subject, organisationId, country, at: now() });
  };
  return {
    /** The record of a call, when it is one to be recorded. */
    open: (asked: Asked, route: Route | undefined): Pending | null => {
      const subject = subjectOf(asked.method, asked.path, route);
      return subject && open(asked, subject);
    },
    /** Somebody came with a token that was refused, whatever it was they wanted to do. */
    failedSignIn: (asked: Asked): Pending | null => (asked.method === 'GET' ? null : open(asked, FAILED_SIGN_IN)),
  };
}

export type Auditing = ReturnType<typeof createAuditing>;

/** Who signed in has no key. */
export const loggedCaller = (principal: Principal): LoggedCaller =>
  principal.session ? { ...principal, keyId: null } : principal;

/** A key of somebody's is still a key; only who signed in is a user. */
export const auditedCaller = ({ organisationId, workspaceId, keyId, userId }: LoggedCaller): AuditedCaller =>
  keyId === null && userId !== null
    ? { organisationId, workspaceId, type: 'user', id: userId }
    : { organisationId, workspaceId, type: 'api_key', id: keyId ?? '' };

/** The principal of a recorded call, whose changes take the record with them. */
export const witnessed = (principal: Principal, pending: Pending | null): Principal =>
  pending ? { ...principal, witness: pending } : principal;

/**
 * Whom it was and what they sent, for a call that was turned away before anybody looked: where no route answers, nobody
 * asks for a key; without the scope, nobody reads the body. Of a stranger nothing is read.
 */
export async function completeRefused(
  pending: Pending,
  { request, route, identify }: { request: Request; route: Route | undefined; identify: () => Promise<Principal> },
): Promise<void> {
  if (!route) {
    const principal = await identify().catch(() => null);
    if (principal) pending.caller = auditedCaller(loggedCaller(principal));
  }
  if (pending.caller && route?.body && !request.bodyUsed)
    await readJson(request, z.unknown(), route.wording, pending.read).catch(() => {});
}
