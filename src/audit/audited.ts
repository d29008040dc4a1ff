import * as z from 'zod';
import type { AuditedCaller } from '../core/audit-event.ts';
import type { Principal } from '../core/principal.ts';
import { headerOf, type SentHeaders } from '../http/headers.ts';
import { readJson } from '../http/input.ts';
import type { LoggedCaller, Route } from '../http/route.ts';
import { countryOf } from './country.ts';
import { createSubjects, type Subject } from './subject.ts';
import type { AuditTrail, Pending } from './trail.ts';

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
    /** A client came with a token that was refused, whatever it wanted to do. */
    failedSignIn: (asked: Asked): Pending | null => (asked.method === 'GET' ? null : open(asked, FAILED_SIGN_IN)),
  };
}

export type Auditing = ReturnType<typeof createAuditing>;

/** A user who signed in has no key. */
export const loggedCaller = (principal: Principal): LoggedCaller =>
  principal.session ? { ...principal, keyId: null } : principal;

/** A call with a user's key counts as the key's; only a call in a session counts as the user's. */
export const auditedCaller = ({ organisationId, workspaceId, keyId, userId }: LoggedCaller): AuditedCaller =>
  keyId === null && userId !== null
    ? { organisationId, workspaceId, type: 'user', id: userId }
    : { organisationId, workspaceId, type: 'api_key', id: keyId ?? '' };

/** The principal of a recorded call, whose changes take the record with them. */
export const witnessed = (principal: Principal, pending: Pending | null): Principal =>
  pending ? { ...principal, witness: pending } : principal;

/**
 * The caller and the body of a call that was refused early: without a route the gateway has not read the key, and
 * without the scope it has not read the body. Of an unknown caller nothing is read.
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
