import type { ApiKeyId, OrganisationId, UserId, WorkspaceId } from './ids.ts';
import type { Limit } from './limits.ts';
import type { Scope } from './scopes.ts';

/** Who is calling: found once per request, then passed down. */
export interface Principal {
  readonly organisationId: OrganisationId;
  readonly workspaceId: WorkspaceId;
  readonly workspaceSlug: string;
  readonly keyId: ApiKeyId;
  readonly keyName: string;
  readonly userId: UserId | null;
  readonly scopes: ReadonlySet<Scope>;
  readonly defaults: {
    readonly virtual_key?: string;
    readonly config?: string;
    readonly metadata?: Readonly<Record<string, string>>;
  };
  /** Those of the key and of its workspace. */
  readonly limits: readonly Limit[];
}

/** Whether this caller may act on every workspace of the organisation, not only on its own. */
export const reachesOrganisation = (who: Principal): boolean => who.scopes.has('organisation.manage');
