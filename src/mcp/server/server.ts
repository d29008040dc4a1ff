import type { OrganisationId, WorkspaceId } from '../../core/ids.ts';
import {
  type AuthType,
  type Configurations,
  DEFAULT_CLAIMS,
  DEFAULT_EXPIRY_SECONDS,
  DEFAULT_START_SECONDS,
  IDENTITY_HEADERS,
  type IdentityMethod,
  type JwtValidation,
  type StoredConfigurations,
} from './configuration.ts';
import { type Forwarding, forwardingOf } from './forwarding.ts';
import { normalised } from './header-names.ts';
import type { OauthMetadata } from './oauth-metadata.ts';
import { type OfferedTools, offeredTools } from './offered-tools.ts';
import { policyOf, type ServerPolicy } from './policy-rules.ts';
import type { Stdio } from './stdio.ts';

/** An MCP server behind the gateway, ready to be called. */
export interface McpServer {
  readonly id: string;
  readonly organisationId: OrganisationId;
  readonly workspaceId: WorkspaceId;
  readonly slug: string;
  readonly name: string;
  readonly url: string;
  readonly authType: AuthType;
  /** Tells versions of its configuration apart. */
  readonly version: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly passthroughHeaders: Readonly<Record<string, string>>;
  readonly forwarding: Forwarding;
  readonly identity: Identity | null;
  readonly jwtValidation: JwtValidation | null;
  /** The header in which a user's token comes, lower case. */
  readonly tokenHeader: string;
  readonly oauth: OauthMetadata | null;
  readonly policy: ServerPolicy;
  /** It speaks the transport of 2024-11-05, which came before Streamable HTTP. */
  readonly speaksSse: boolean;
  /** It is no MCP server but an API, and these are its tools; null: it speaks MCP. */
  readonly api: OfferedTools | null;
  /** It is a program that the gateway runs; null: it has an address. */
  readonly program: Stdio | null;
  /** How long those who ask all servers wait for this one. */
  readonly startMs: number;
  /** Whether messages and answers are stored in the log, like those of model calls. */
  readonly logsBodies: boolean;
}

/** How the server is told who calls. */
export interface Identity {
  readonly method: IdentityMethod;
  readonly claims: readonly string[];
  readonly header: string;
  readonly expirySeconds: number;
  readonly audience: string | null;
}

/** First segments of paths that are the gateway's own. */
const RESERVED = new Set([
  'v1',
  'docs',
  'console',
  'health',
  'ready',
  'metrics',
  'oauth',
  'connect',
  'mcp',
  'sets',
  'v0.1',
  '.well-known',
  'openapi.json',
]);

export const SLUG_FORM = 'give 1 to 63 lower-case letters, digits, dashes or underscores, a letter or digit first';
export const isServerSlug = (text: string): boolean => /^[a-z0-9][a-z0-9_-]{0,62}$/.test(text);
export const isReservedSlug = (text: string): boolean => RESERVED.has(text);

export interface ServerFacts {
  readonly id: string;
  readonly organisationId: OrganisationId;
  readonly workspaceId: WorkspaceId;
  readonly slug: string;
  readonly name: string;
  readonly url: string;
  readonly authType: AuthType;
  readonly version: string;
}

export function serverOf(facts: ServerFacts, configurations: StoredConfigurations): McpServer {
  const identity = identityOf(configurations);
  const tokenHeader = (configurations.jwt_validation?.headerKey ?? 'authorization').toLowerCase();
  return {
    ...facts,
    headers: configurations.headers ?? {},
    passthroughHeaders: configurations.passthrough_headers ?? {},
    forwarding: forwardingOf(configurations.forward_headers, [
      normalised(tokenHeader),
      ...(identity ? [normalised(identity.header)] : []),
    ]),
    identity,
    jwtValidation: configurations.jwt_validation ?? null,
    tokenHeader,
    oauth: configurations.oauth_metadata ?? null,
    policy: policyOf(configurations, facts),
    speaksSse: configurations.transport === 'sse',
    api: configurations.openapi_tools
      ? offeredTools(configurations.openapi_tools, [
          ...Object.keys(configurations.headers ?? {}),
          ...Object.keys(configurations.passthrough_headers ?? {}),
          ...(identity ? [identity.header] : []),
          tokenHeader,
        ])
      : null,
    program: (configurations.transport === 'stdio' && configurations.stdio) || null,
    startMs: (configurations.start_seconds ?? DEFAULT_START_SECONDS) * 1_000,
    logsBodies: configurations.log_bodies ?? false,
  };
}

export function identityOf({ user_identity_forwarding: given }: Configurations): Identity | null {
  if (!given) return null;
  return {
    method: given.method,
    claims: [...new Set(given.include_claims ?? DEFAULT_CLAIMS)],
    header: given.header_name ?? IDENTITY_HEADERS[given.method],
    expirySeconds: given.jwt_expiry_seconds ?? DEFAULT_EXPIRY_SECONDS,
    audience: given.jwt_audience ?? null,
  };
}
