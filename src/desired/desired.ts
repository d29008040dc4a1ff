import type { MemberKeyRule } from '../auth/member-keys.ts';
import type { SealedKey } from '../auth/virtual-key.ts';
import type { Principal } from '../core/principal.ts';
import type { Scope } from '../core/scopes.ts';
import type { PolicyKind } from '../limits/policies/schema.ts';
import type { ManagedRow } from '../storage/schema.ts';
import type { Limits } from './limits.ts';
import type { Place } from './reading/findings.ts';

/** What a file wants to exist. Each wish is whole: what the file leaves out stands there as its default. */
export interface Desired {
  /** At most one. */
  readonly organisation: readonly OrganisationWish[];
  readonly workspaces: readonly WorkspaceWish[];
  readonly virtualKeys: readonly VirtualKeyWish[];
  readonly configs: readonly ConfigWish[];
  readonly apiKeys: readonly ApiKeyWish[];
  readonly policies: readonly PolicyWish[];
}

export const nothing: Desired = {
  organisation: [],
  workspaces: [],
  virtualKeys: [],
  configs: [],
  apiKeys: [],
  policies: [],
};

export type Kind = ManagedRow['kind'];

interface Wish {
  readonly place: Place;
  /** What the file calls it; it stays the same while the rest changes. */
  readonly ref: string;
}

/** What stands above all workspaces. It is always there, and never made or deleted. */
export interface OrganisationWish extends Wish {
  readonly workspace: null;
  readonly fields: { readonly forbidden: readonly string[] | null };
}

export interface WorkspaceWish extends Wish {
  readonly slug: string;
  readonly fields: Limits & {
    readonly name: string;
    readonly description: string | null;
    readonly defaults: Readonly<Record<string, unknown>>;
    readonly forbidden?: readonly string[] | null;
    readonly member_keys?: MemberKeyRule | null;
  };
}

export interface VirtualKeyWish extends Wish {
  /** The slug of its workspace. */
  readonly workspace: string;
  readonly slug: string;
  /** A credential, or where a secret store keeps it. */
  readonly key: SealedKey['key'];
  readonly fields: Limits & {
    readonly name: string;
    readonly note: string | null;
    readonly provider: string;
    readonly custom_host: string | null;
    readonly configurations: Readonly<Record<string, unknown>>;
    readonly expires_at: string | null;
  };
}

export interface ConfigWish extends Wish {
  readonly workspace: string;
  readonly slug: string;
  readonly name: string;
  readonly config: unknown;
}

export interface PolicyWish extends Wish {
  readonly policy: PolicyKind;
  /** Null: the whole organisation. */
  readonly workspace: string | null;
  readonly fields: Readonly<Record<string, unknown>> & { readonly name: string };
}

export interface ApiKeyWish extends Wish {
  readonly workspace: string;
  readonly secret: {
    readonly hash: string;
    readonly masked: string;
    /** False: the secret is who it is, and one that was rotated here since does not come back. */
    readonly mayReplace: boolean;
  };
  readonly fields: Limits & {
    readonly name: string;
    readonly description: string | null;
    readonly scopes: readonly Scope[];
    readonly defaults: Principal['defaults'];
    readonly forbidden?: readonly string[] | null;
    readonly models?: readonly string[] | null;
    readonly expires_at: string | null;
  };
}

/** Something as it can be compared: what may be shown, and what may only be called the same or another. */
export interface Shape {
  readonly facts: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, unknown>>;
}

/** Something as it is stored. */
export interface Stored extends Shape {
  readonly id: string;
}

/** The same text for the same value, whatever the order of its members; absent members count for nothing. */
export const canonical = (value: unknown): string =>
  JSON.stringify(value, (_name, member: unknown) =>
    member !== null && typeof member === 'object' && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  ) ?? 'null';

export const isoOf = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());
export const sameMoment = (text: string | null): string | null => (text === null ? null : isoOf(Date.parse(text)));
