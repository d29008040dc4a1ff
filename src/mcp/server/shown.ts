import { fail } from '../../core/errors.ts';
import { MASKED, maskedAddress, refuseMaskedAddress } from '../../core/masked-address.ts';
import { mask } from '../../crypto/seal.ts';
import type { McpServerRow } from '../../storage/schema.ts';
import type { Configurations, StoredConfigurations } from './configuration.ts';
import { shownOpenApi } from './openapi.ts';
import { refuseMaskedStdio, shownStdio } from './stdio.ts';

/** A server as its owners see it: without its secrets. */
export interface ShownServer {
  readonly id: string;
  readonly object: 'mcp-server';
  readonly slug: string;
  readonly name: string;
  readonly description: string | null;
  readonly workspace_id: string;
  readonly url: string;
  /** Where clients reach it through the gateway. */
  readonly endpoint: string;
  readonly auth_type: string;
  readonly configurations: Readonly<Record<string, unknown>>;
  /** What works and is not as safe as it could be. */
  readonly warnings: readonly string[];
  readonly created_at: string;
  readonly last_updated_at: string;
}

const SECRET_NAME = /auth|key|token|secret|pass|credential|cookie|signature/i;

/** Of a row whose address is open. */
export const shownServer = (
  row: McpServerRow,
  configurations: StoredConfigurations,
  publicUrl: string,
): ShownServer => ({
  id: row.id,
  object: 'mcp-server',
  slug: row.slug,
  name: row.name,
  description: row.description,
  workspace_id: row.workspace_id,
  url: maskedAddress(row.url),
  endpoint: endpointOf(publicUrl, row.slug),
  auth_type: row.auth_type,
  configurations: masked(configurations),
  warnings: warningsOf(configurations),
  created_at: new Date(row.created_at).toISOString(),
  last_updated_at: new Date(row.updated_at).toISOString(),
});

export const endpointOf = (publicUrl: string, slug: string): string => `${publicUrl}/${slug}/mcp`;

/** Addresses that the gateway calls. Those that browsers are sent to are no secret. */
const RULE_ADDRESSES = ['jwksUri', 'introspectEndpoint'] as const;
const OAUTH_ADDRESSES = ['token_endpoint', 'registration_endpoint', 'revocation_endpoint'] as const;

function maskedIn<Given extends object>(given: Given, names: readonly (keyof Given)[]): Partial<Given> {
  const shown = names.flatMap((name) => {
    const value = given[name];
    return typeof value === 'string' ? [[name, maskedAddress(value)]] : [];
  });
  return Object.fromEntries(shown);
}

type Values = Readonly<Record<string, string>>;
const maskedValues = (values: Values, isSecret: (name: string) => boolean): Values =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, isSecret(name) ? mask(value) : value]));

function masked(given: StoredConfigurations): Readonly<Record<string, unknown>> {
  const {
    headers,
    passthrough_headers,
    jwt_validation,
    oauth_metadata,
    openapi,
    stdio,
    openapi_tools: _,
    ...rest
  } = given;
  const secret = jwt_validation?.introspectClientSecret;
  return {
    ...rest,
    ...(openapi && { openapi: shownOpenApi(openapi) }),
    ...(stdio && { stdio: shownStdio(stdio) }),
    ...(headers && { headers: maskedValues(headers, () => true) }),
    ...(passthrough_headers && {
      passthrough_headers: maskedValues(passthrough_headers, (name) => SECRET_NAME.test(name)),
    }),
    ...(jwt_validation && {
      jwt_validation: {
        ...jwt_validation,
        ...maskedIn(jwt_validation, RULE_ADDRESSES),
        ...(secret !== undefined && { introspectClientSecret: mask(secret) }),
      },
    }),
    ...(oauth_metadata && {
      oauth_metadata: {
        ...oauth_metadata,
        ...maskedIn(oauth_metadata, OAUTH_ADDRESSES),
        ...(oauth_metadata.client_secret !== undefined && { client_secret: mask(oauth_metadata.client_secret) }),
      },
    }),
  };
}

/** What was read back with its secrets masked must not be stored like that. */
export function refuseMasked({ headers, passthrough_headers, jwt_validation, oauth_metadata, stdio }: Configurations) {
  refuseMaskedStdio(stdio);
  const refuse = (path: string, value: string | undefined) => {
    if (value?.includes(MASKED)) fail('invalid_request', `configurations.${path}`, 'is masked; send the secret itself');
  };
  for (const [name, value] of Object.entries(headers ?? {})) refuse(`headers.${name}`, value);
  for (const [name, value] of Object.entries(passthrough_headers ?? {})) {
    if (SECRET_NAME.test(name)) refuse(`passthrough_headers.${name}`, value);
  }
  refuse('jwt_validation.introspectClientSecret', jwt_validation?.introspectClientSecret);
  refuse('oauth_metadata.client_secret', oauth_metadata?.client_secret);
  for (const name of RULE_ADDRESSES)
    refuseMaskedAddress(jwt_validation?.[name], `configurations.jwt_validation.${name}`);
  for (const name of OAUTH_ADDRESSES)
    refuseMaskedAddress(oauth_metadata?.[name], `configurations.oauth_metadata.${name}`);
}

function warningsOf({ jwt_validation: rules, openapi_tools: api }: StoredConfigurations): string[] {
  const warnings = (api?.leftOut ?? []).map((left) => `openapi: no tool: ${left}`);
  const names = (claim: string, given: unknown) => given !== undefined || rules?.claimValues?.[claim] !== undefined;
  if (rules && !names('iss', rules.issuer))
    warnings.push('jwt_validation: without issuer, tokens of any issuer that the key set vouches for are accepted.');
  if (rules && !names('aud', rules.audience))
    warnings.push('jwt_validation: without audience, tokens that were issued for other services are accepted.');
  return warnings;
}
