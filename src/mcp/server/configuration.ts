import * as z from 'zod';
import type { JwtRules } from '../../auth/jwt-rules.ts';
import { type Checked, schemaOf } from '../../core/schema.ts';
import { checked } from '../../http/input.ts';
import type { ApiTools } from '../openapi/tools.ts';
import { isCarrier, isForwardable, isHeaderName, isSettable, normalised } from './header-names.ts';
import { jwtValidation } from './jwt-validation.ts';
import { oauthMetadata } from './oauth-metadata.ts';
import { openapi } from './openapi.ts';
import { policyMembers } from './policy-rules.ts';
import { stdio } from './stdio.ts';

/** What is configured of an MCP server beside its address, as it is written and stored. */

export const AUTH_TYPES = ['none', 'headers', 'oauth_auto', 'oauth_client_credentials'] as const;
export type AuthType = (typeof AUTH_TYPES)[number];
export const IDENTITY_METHODS = ['claims_header', 'bearer', 'jwt_header'] as const;
export type IdentityMethod = (typeof IDENTITY_METHODS)[number];

export const DEFAULT_CLAIMS = [
  'sub',
  'email',
  'username',
  'user_id',
  'workspace_id',
  'organisation_id',
  'scope',
  'client_id',
] as const;
/** Claims of a signed token that its signer alone sets: no user's token brings them along. */
export const SIGNERS_CLAIMS: ReadonlySet<string> = new Set(['iss', 'iat', 'exp', 'nbf', 'aud', 'jti']);
export const DEFAULT_EXPIRY_SECONDS = 300;
export const DEFAULT_START_SECONDS = 5;
const MOST_HEADERS = 50;

/** The header an identity travels in unless the configuration names another (spec 5.3). */
export const IDENTITY_HEADERS: Record<IdentityMethod, string> = {
  claims_header: 'X-User-Claims',
  bearer: 'Authorization',
  jwt_header: 'X-User-JWT',
};

const NO_HEADER_NAME = 'is not a header name; give letters, digits and dashes';
const headerName = () => z.string().max(128).refine(isHeaderName, NO_HEADER_NAME);
const UNSETTABLE = 'belongs to HTTP or MCP itself and cannot be set';
const settableName = () => headerName().refine((name) => isSettable(normalised(name)), UNSETTABLE);
const headerValue = () =>
  z
    .string()
    .max(8_192)
    .regex(/^[\x20-\x7e\t]*$/, 'holds characters that no header may hold; give printable ASCII');
const staticHeaders = () =>
  z
    .record(z.string(), headerValue())
    .refine((headers) => Object.keys(headers).length <= MOST_HEADERS, `give at most ${MOST_HEADERS} headers`)
    .superRefine((headers, context) => {
      const seen = new Set<string>();
      for (const name of Object.keys(headers)) {
        const add = (message: string) => context.addIssue({ code: 'custom', path: [name], message });
        if (!isHeaderName(name)) add(NO_HEADER_NAME);
        else if (!isSettable(normalised(name))) add(UNSETTABLE);
        if (seen.has(normalised(name))) add('is given twice in different spellings');
        seen.add(normalised(name));
      }
    });

const forwardableName = () =>
  headerName().refine(
    (name) => isForwardable(normalised(name)),
    'is protected and never forwarded from a client; leave it out',
  );
const NAME_OR_RENAME = { error: 'give a header name or {"from", "to"}' };
const rename = () => z.strictObject({ from: forwardableName(), to: forwardableName() });
const forwardHeaders = () =>
  z.union(
    [
      z.array(z.union([forwardableName(), rename()], NAME_OR_RENAME)).max(MOST_HEADERS),
      z.discriminatedUnion(
        'mode',
        [
          z.strictObject({
            mode: z.literal('allowlist'),
            headers: z.array(z.union([forwardableName(), rename()], NAME_OR_RENAME)).max(MOST_HEADERS),
          }),
          z.strictObject({
            mode: z.literal('all-except'),
            // What is never forwarded may be named here, too.
            headers: z.array(z.union([headerName(), rename()], NAME_OR_RENAME)).max(MOST_HEADERS),
          }),
        ],
        { error: 'give "allowlist" or "all-except"' },
      ),
    ],
    { error: 'give a list of header names, or {"mode": "allowlist" or "all-except", "headers": […]}' },
  );

const identityForwarding = () =>
  z.strictObject({
    method: z.enum(IDENTITY_METHODS, { error: 'give "claims_header", "bearer" or "jwt_header"' }),
    include_claims: z.array(z.string().min(1).max(256)).max(100).optional(),
    header_name: settableName()
      .refine((name) => isCarrier(normalised(name)), 'cannot carry an identity')
      .optional(),
    jwt_expiry_seconds: z
      .int('give a whole number of seconds')
      .min(1, 'give 1 to 3600 seconds')
      .max(3_600, 'give 1 to 3600 seconds')
      .optional(),
    jwt_audience: z.string().min(1).max(1_024).optional(),
  });

const configurations = () =>
  z.strictObject({
    headers: staticHeaders().optional(),
    passthrough_headers: staticHeaders().optional(),
    forward_headers: forwardHeaders().optional(),
    user_identity_forwarding: identityForwarding().optional(),
    jwt_validation: jwtValidation().optional(),
    oauth_metadata: oauthMetadata().optional(),
    transport: z
      .enum(['streamable_http', 'sse', 'openapi', 'stdio'], {
        error: 'give "streamable_http", "sse", "openapi" or "stdio"',
      })
      .optional(),
    openapi: openapi().optional(),
    stdio: stdio().optional(),
    start_seconds: z
      .int('give a whole number of seconds')
      .min(1, 'give 1 to 300 seconds')
      .max(300, 'give 1 to 300 seconds')
      .optional(),
    ...policyMembers(),
  });

export type Configurations = Checked<typeof configurations>;
/** As they are stored: with the tools of a description in the place of its text. */
export type StoredConfigurations = Configurations & { readonly openapi_tools?: ApiTools };
export type IdentityForwarding = Checked<typeof identityForwarding>;
export type ForwardHeaders = Checked<typeof forwardHeaders>;
export type JwtValidation = JwtRules & { readonly headerKey?: string; readonly required?: boolean };

/** With its place in the body, so that faults name it. */
const inBody = () => z.strictObject({ configurations: configurations() });

/** Throws 400 with the path of the fault. */
export const readConfigurations = (value: unknown): Configurations =>
  checked(schemaOf(inBody), { configurations: value }, 'configurations').configurations;
