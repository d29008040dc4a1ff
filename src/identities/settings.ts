import * as z from 'zod';
import { type Checked, schemaOf } from '../core/schema.ts';

const text = () =>
  z
    .string()
    .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII characters without spaces')
    .max(2_048);
const url = () =>
  text().refine((given) => {
    const parsed = URL.parse(given);
    return (parsed?.protocol === 'https:' || parsed?.protocol === 'http:') && !parsed.username && !parsed.password;
  }, 'must be an http or https address');
const segment = () => z.string().regex(/^[\w.@-]+$/, 'must be a name');
const label = () => z.string().regex(/^[a-z0-9-]{1,63}$/i, 'must be letters, digits and dashes');

const common = () => ({
  name: label().regex(/^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/, 'must be lower-case letters, digits and inner dashes'),
  workspaces: z.array(z.string().regex(/^(?:\*|[a-z0-9][a-z0-9-]*)$/, 'must be the slug of a workspace, or *')),
});

const identity = () =>
  z.discriminatedUnion('source', [
    z.strictObject({ ...common(), source: z.literal('aws-instance'), url: url().default('http://169.254.169.254') }),
    z.strictObject({
      ...common(),
      source: z.literal('aws-container'),
      url: url(),
      token_file: z.string().min(1).optional(),
    }),
    z.strictObject({
      ...common(),
      source: z.literal('aws-web-identity'),
      region: label(),
      role_arn: text().regex(
        /^arn:aws[a-z-]*:iam::\d{12}:role\//,
        'must be such as arn:aws:iam::123456789012:role/name',
      ),
      token_file: z.string().min(1),
      url: url().optional(),
    }),
    z.strictObject({
      ...common(),
      source: z.literal('google-instance'),
      url: url().default('http://metadata.google.internal'),
      service_account: segment().default('default'),
    }),
    z.strictObject({
      ...common(),
      source: z.literal('google-federated'),
      audience: text(),
      token_file: z.string().min(1),
      service_account: segment().optional(),
      url: url().default('https://sts.googleapis.com'),
      credentials_url: url().default('https://iamcredentials.googleapis.com'),
    }),
    z.strictObject({
      ...common(),
      source: z.literal('azure-instance'),
      url: url().default('http://169.254.169.254'),
      client_id: segment().optional(),
    }),
    z.strictObject({
      ...common(),
      source: z.literal('azure-federated'),
      tenant_id: segment(),
      client_id: segment(),
      token_file: z.string().min(1),
      url: url().default('https://login.microsoftonline.com'),
    }),
  ]);
const identities = () => z.array(identity()).max(100);

export type IdentitySettings = Checked<typeof identity>;

export const IDENTITIES_FORM =
  'give a list in JSON of {"name", "source", "workspaces", …}, see docs/machine-identity.md';

/** What the platform has put into the environment, for members that are left out. */
function withEnvironment(given: unknown, env: Readonly<Record<string, string | undefined>>): unknown {
  if (given === null || typeof given !== 'object') return given;
  const relative = env.AWS_CONTAINER_CREDENTIALS_RELATIVE_URI;
  const known: Readonly<Record<string, Record<string, string | undefined>>> = {
    'aws-container': {
      url: env.AWS_CONTAINER_CREDENTIALS_FULL_URI ?? (relative && `http://169.254.170.2${relative}`),
      token_file: env.AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE,
    },
    'aws-web-identity': {
      region: env.AWS_REGION ?? env.AWS_DEFAULT_REGION,
      role_arn: env.AWS_ROLE_ARN,
      token_file: env.AWS_WEB_IDENTITY_TOKEN_FILE,
    },
    'azure-federated': {
      tenant_id: env.AZURE_TENANT_ID,
      client_id: env.AZURE_CLIENT_ID,
      token_file: env.AZURE_FEDERATED_TOKEN_FILE,
    },
  };
  const found = Object.entries(known[String((given as { source?: unknown }).source)] ?? {}).filter(
    ([, value]) => value,
  );
  return { ...Object.fromEntries(found), ...given };
}

/** A text says what is wrong. */
export function readIdentities(
  given: string,
  env: Readonly<Record<string, string | undefined>>,
): readonly IdentitySettings[] | string {
  let value: unknown;
  try {
    value = JSON.parse(given);
  } catch {
    return 'is no JSON';
  }
  const whole = Array.isArray(value) ? value.map((each) => withEnvironment(each, env)) : value;
  const read = schemaOf(identities).safeParse(whole);
  if (!read.success) {
    const [issue] = read.error.issues;
    const place = issue!.path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
    return `is wrong at ${place || 'the top'}: ${issue!.message}`;
  }
  const names = read.data.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  return twice === undefined ? read.data : `names "${twice}" twice`;
}
