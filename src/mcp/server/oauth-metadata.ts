import * as z from 'zod';
import type { Checked } from '../../core/schema.ts';

/** What is configured of an MCP server's authorization server, and of the gateway as its client. */

const address = (what: string) =>
  z.url({ protocol: /^https?$/, error: `give the http(s) address of the ${what}` }).max(2_048);
const scopes = () =>
  z
    .string()
    .max(4_096)
    .regex(/^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/, 'give names with one space between them');

/** The flow itself decides these; another value would undo its protection. */
const FLOWS_OWN = new Set([
  'response_type',
  'response_mode',
  'client_id',
  'client_secret',
  'code_challenge',
  'code_challenge_method',
  'redirect_uri',
  'state',
  'scope',
  'resource',
  'request',
  'request_uri',
]);
const authorizationParams = () =>
  z.record(z.string().min(1).max(128), z.string().max(2_048)).superRefine((given, context) => {
    for (const name of Object.keys(given)) {
      if (FLOWS_OWN.has(name))
        context.addIssue({ code: 'custom', path: [name], message: 'is set by the gateway itself; leave it out' });
    }
  });

export const TOKEN_AUTH_METHODS = ['none', 'client_secret_basic', 'client_secret_post'] as const;
export type TokenAuthMethod = (typeof TOKEN_AUTH_METHODS)[number];

export const oauthMetadata = () =>
  z.strictObject({
    issuer: address('issuer').optional(),
    authorization_endpoint: address('authorization endpoint').optional(),
    token_endpoint: address('token endpoint').optional(),
    registration_endpoint: address('registration endpoint').optional(),
    revocation_endpoint: address('revocation endpoint').optional(),
    client_id: z.string().min(1).max(1_024).optional(),
    client_secret: z.string().min(1).max(8_192).optional(),
    scope: scopes().optional(),
    resource: z.string().min(1).max(2_048).optional(),
    omit_resource: z.boolean().optional(),
    audience: z.string().min(1).max(2_048).optional(),
    token_endpoint_auth_method: z
      .enum(TOKEN_AUTH_METHODS, { error: 'give "none", "client_secret_basic" or "client_secret_post"' })
      .optional(),
    authorization_params: authorizationParams().optional(),
    client_name: z.string().min(1).max(256).optional(),
    client_uri: address('page about the client').optional(),
    logo_uri: address('logo').optional(),
    tos_uri: address('terms of service').optional(),
    policy_uri: address('privacy policy').optional(),
    contacts: z.array(z.string().min(1).max(320)).max(10).optional(),
    software_id: z.string().min(1).max(256).optional(),
    software_version: z.string().min(1).max(256).optional(),
  });

export type OauthMetadata = Checked<typeof oauthMetadata>;

/** What decides whose tokens they are: after a change of one of these the old tokens are of no use. */
const ISSUING = [
  'issuer',
  'authorization_endpoint',
  'token_endpoint',
  'client_id',
  'resource',
  'omit_resource',
  'audience',
] as const;

export const isSameIssuing = (one: OauthMetadata | undefined, other: OauthMetadata | undefined): boolean =>
  ISSUING.every((member) => one?.[member] === other?.[member]);
