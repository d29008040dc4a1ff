import type { AllowedModels } from './allowed-models.ts';
import type { Forbids } from './forbidden.ts';
import type { ApiKeyId, OrganisationId, UserId, WorkspaceId } from './ids.ts';
import type { Limit } from './limits.ts';
import type { Scope } from './scopes.ts';

/** What MCP clients get of many servers: every definition, tools that search for the others, or such that run programs. */
export const MCP_TOOLS = ['all', 'search', 'code'] as const;
export type McpTools = (typeof MCP_TOOLS)[number];

/**
 * Puts the record of a call into the transaction of the change that the call makes, so that there is neither without
 * the other. Code that changes something for a caller gives the caller to the transaction, which then asks its witness.
 */
export interface Witness {
  /** As the last thing inside the transaction, with its handle. */
  testify(transaction: unknown): Promise<void>;
  /** The transaction is committed. */
  committed(): void;
}

export interface Witnessed {
  readonly witness?: Witness;
}

/** Who is calling: found once per request, then passed down. */
export interface Principal extends Witnessed {
  readonly organisationId: OrganisationId;
  readonly workspaceId: WorkspaceId;
  readonly workspaceSlug: string;
  /** Of the key that was sent; who signed in has the user's own id in its place. */
  readonly keyId: ApiKeyId;
  readonly keyName: string;
  readonly userId: UserId | null;
  /** Known by a token of an issuer that the organisation believes, and not by anything in the store. */
  readonly isMachine?: boolean;
  /** A person who signed in. */
  readonly session?: { readonly hash: string; readonly expiresAt: number };
  readonly scopes: ReadonlySet<Scope>;
  readonly defaults: {
    readonly virtual_key?: string;
    readonly config?: string;
    readonly metadata?: Readonly<Record<string, string>>;
    /** The key's own; those of its workspace and organisation come before them. */
    readonly input_guardrails?: readonly string[];
    readonly output_guardrails?: readonly string[];
    /** Whether MCP clients get all tools of all servers, or search them. */
    readonly mcp_tools?: McpTools;
  };
  /** Those of the key and of its workspace. */
  readonly limits: readonly Limit[];
  /** What organisation, workspace and key forbid calls to bring along. Left out: nothing. */
  readonly forbids?: Forbids;
  /** The models that the key may call. Left out: every model. */
  readonly models?: AllowedModels;
}

/** What the caller's key is called; null: there is none, and the name would be that of a user or a machine. */
export const keyNameOf = (who: {
  readonly keyId: string | null;
  readonly userId: string | null;
  readonly keyName?: string;
  readonly isMachine?: boolean;
}): string | null => (who.isMachine || who.keyId === null || who.keyId === who.userId ? null : (who.keyName ?? null));

/** Who began work that goes on without them, as the work's own row remembers it. */
export interface WorkCaller {
  /** Of the key; or the id that stands in its place for users and machines. */
  readonly api_key_id: string;
  readonly workspace_id: string;
}

/** Whether this caller may act on every workspace of the organisation, not only on its own. */
export const reachesOrganisation = (who: Principal): boolean => who.scopes.has('organisation.manage');
