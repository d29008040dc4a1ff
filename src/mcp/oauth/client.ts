import * as z from 'zod';
import { type Checked, schemaOf } from '../../core/schema.ts';
import { redirectFault } from './redirect-uris.ts';

/** An application that asks for tokens. PKCE proves that it is the same that asked; some have a secret besides. */
export interface Client {
  readonly id: string;
  readonly name: string;
  readonly redirectUris: readonly string[];
  /** Whether it can renew its tokens. */
  readonly isRenewable: boolean;
  /** Where its metadata are from: its own address, a registration that any program could make, or an administrator. */
  readonly origin: 'document' | 'registration' | 'administrator';
  /** Whose people alone it is for. */
  readonly organisationId?: string;
}

export const GRANT_TYPES = ['authorization_code', 'refresh_token'] as const;

/** As far as we act on it (RFC 7591 section 2); the rest is not ours to judge. */
const metadata = () =>
  z.object({
    redirect_uris: z.array(z.string()).min(1).max(20),
    client_name: z.string().trim().min(1).max(200).optional(),
    grant_types: z.array(z.string()).max(20).optional(),
    response_types: z.array(z.string()).max(20).optional(),
    token_endpoint_auth_method: z.string().optional(),
  });
export type ClientMetadata = Checked<typeof metadata>;

/** What is wrong, with the member it is about. */
export interface MetadataFault {
  readonly member: string;
  readonly why: string;
}

export function readClientMetadata(value: unknown): ClientMetadata | MetadataFault {
  const result = schemaOf(metadata).safeParse(value);
  if (!result.success) {
    const [issue] = result.error.issues;
    return { member: issue?.path.join('.') || 'metadata', why: issue?.message ?? 'is not valid' };
  }
  const given = result.data;
  for (const uri of given.redirect_uris) {
    const why = redirectFault(uri);
    if (why) return { member: 'redirect_uris', why: `${uri.slice(0, 200)} ${why}` };
  }
  if (given.grant_types && !given.grant_types.includes('authorization_code'))
    return { member: 'grant_types', why: 'must name authorization_code' };
  if (given.response_types && !given.response_types.includes('code'))
    return { member: 'response_types', why: 'must name code' };
  return given;
}

/** What a client calls itself, without invisible characters and characters that turn the writing around. */
export const shownName = ({ client_name = '' }: ClientMetadata, otherwise: string): string =>
  client_name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ').trim() || otherwise;

/** Without `grant_types` a client may renew: one that cannot leaves the token unused. */
export const isRenewable = ({ grant_types }: ClientMetadata): boolean =>
  grant_types === undefined || grant_types.includes('refresh_token');
