import * as z from 'zod';
import type { MachineTokens } from '../auth/machine-tokens.ts';
import { fail } from '../core/errors.ts';
import { deleted } from '../http/resource.ts';
import { del, get, put, type Route } from '../http/route.ts';

const jwk = () =>
  z
    .looseObject({
      kty: z.literal('RSA', { error: 'only RSA keys are taken' }),
      kid: z.string().min(1),
      n: z.string(),
      e: z.string(),
    })
    .refine((key) => !('d' in key), 'is a private key; give its public half');

const rules = () =>
  z
    .strictObject({
      jwks_uri: z
        .url({ protocol: /^https?$/, error: 'give the http(s) address of a key set' })
        .max(2_048)
        .optional()
        .describe('Where the public keys are. Give this or jwks.'),
      jwks: z.strictObject({ keys: z.array(jwk()).min(1).max(100) }).optional(),
      issuer: z.string().min(1).max(2_048).optional(),
      audience: z.string().min(1).max(2_048).optional(),
      clock_tolerance: z.number().int().min(0).max(300).optional().describe('Seconds; 5 unless given.'),
    })
    .refine(({ jwks_uri, jwks }) => (jwks_uri === undefined) !== (jwks === undefined), {
      error: 'give one of jwks_uri and jwks',
      path: ['jwks_uri'],
    });
const shown = () => z.object({ object: z.literal('machine-tokens'), ...rules().shape }).meta({ id: 'MachineTokens' });

const PATH = '/v1/admin/organisation/machine-tokens';

export interface MachineTokenParts {
  readonly machineTokens: MachineTokens;
  /** Throws when the gateway may not ask there for keys. */
  readonly checkAddress: (url: string) => Promise<void>;
}

export const machineTokenRoutes = ({ machineTokens: tokens, checkAddress }: MachineTokenParts): Route[] => [
  get(
    PATH,
    { scopes: ['organisation.manage'], summary: 'Whose tokens let machines in', response: shown },
    async () => ({ object: 'machine-tokens', ...((await tokens.read()) ?? fail('machine_tokens_not_configured')) }),
  ),
  put(
    PATH,
    {
      scopes: ['organisation.manage', 'owners.manage'],
      audit: { resource: 'organisation' },
      summary: 'Let machines in by tokens of an identity provider (RS256)',
      body: rules,
      response: shown,
    },
    async ({ principal, body }) => {
      if (body.jwks_uri !== undefined) await checkAddress(body.jwks_uri);
      return { object: 'machine-tokens', ...(await tokens.set(principal, body)) };
    },
  ),
  del(
    PATH,
    {
      scopes: ['organisation.manage', 'owners.manage'],
      audit: { resource: 'organisation' },
      summary: 'Let no machine in by a token any more',
      response: () => deleted('machine-tokens'),
    },
    async ({ principal }) => {
      await tokens.remove(principal);
      return { id: principal.organisationId, object: 'machine-tokens', deleted: true };
    },
  ),
];
