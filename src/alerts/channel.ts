import * as z from 'zod';
import { deliveryObject } from '../core/delivery.ts';
import { maskedAddress } from '../core/masked-address.ts';
import type { Checked } from '../core/schema.ts';
import type { Secrets } from '../crypto/webhook-signature.ts';
import type { AlertChannelRow } from '../storage/schema.ts';

/** Where alerts are told. */

export const KINDS = ['webhook', 'slack', 'teams', 'email'] as const satisfies readonly AlertChannelRow['kind'][];
export type ChannelKind = (typeof KINDS)[number];

const CONTROL = /[\u0000-\u001f\u007f\u0085\u2028\u2029]/;

/** One line of text: it may become a header of a mail. */
export const line = (most: number) =>
  z
    .string()
    .trim()
    .min(1, 'give at least one character')
    .max(most, `give at most ${most} characters`)
    .refine((text) => !CONTROL.test(text), 'give one line, without control characters');

const address = () =>
  z.strictObject({
    url: z
      .url({ protocol: /^https?$/, error: 'give the http(s) address that messages are sent to' })
      .max(2_048, 'give at most 2048 characters'),
  });

const SECURITIES = ['tls', 'starttls', 'none'] as const;
const mailbox = () => z.email('give an e-mail address').max(254, 'give at most 254 characters');
const host = () =>
  z
    .string()
    .max(253, 'give at most 253 characters')
    .regex(/^(?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])$/, 'give a host name or an address, without scheme and port');

const mail = () =>
  z
    .strictObject({
      host: host(),
      port: z.int('give a whole number').min(1, 'give 1 to 65535').max(65_535, 'give 1 to 65535'),
      security: z
        .enum(SECURITIES, { error: `give one of ${SECURITIES.join(', ')}` })
        .describe(
          '`tls` from the first byte (port 465), `starttls` (port 587), or `none` to hosts the operator trusts.',
        ),
      username: line(255).nullable().optional(),
      password: z.string().min(1).max(1_024).nullable().optional(),
      from: mailbox(),
      to: z
        .array(mailbox(), { error: 'give a list of e-mail addresses' })
        .min(1, 'give at least one address')
        .max(20, 'give at most 20 addresses'),
    })
    .superRefine(({ username, password, security }, context) => {
      const fault = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message });
      if (username && !password) fault('password', 'is missing beside username');
      if (password && !username) fault('username', 'is missing beside password');
      if (password && security === 'none')
        fault('security', 'give tls or starttls: a password is not sent in the open');
    });

/** What a channel of each kind is told by. */
export const SETTINGS = { webhook: address, slack: address, teams: address, email: mail } as const;
export type AddressSettings = Checked<typeof address>;
export type MailSettings = Checked<typeof mail>;
export type ChannelSettings = AddressSettings | MailSettings;

/** What is sealed of a channel. */
export interface Sealed {
  readonly settings: ChannelSettings;
  /** Of a webhook: what its messages are signed with. */
  readonly secrets?: Secrets;
}

/** A row whose settings are open. */
export interface Channel extends Omit<AlertChannelRow, 'sealed'>, Sealed {}

export const isMail = (settings: ChannelSettings): settings is MailSettings => 'host' in settings;

const shownAddress = () => z.object({ url: z.string().describe('Without what may be a secret in it.') });
const shownMail = () =>
  z.object({
    host: z.string(),
    port: z.number().int(),
    security: z.enum(SECURITIES),
    username: z.string().nullable(),
    has_password: z.boolean(),
    from: z.string(),
    to: z.array(z.string()),
  });

export const channelObject = () =>
  z
    .object({
      id: z.uuid(),
      object: z.literal('alert_channel'),
      name: z.string(),
      kind: z.enum(KINDS),
      settings: z.union([shownAddress(), shownMail()]),
      is_enabled: z.boolean(),
      organisation_id: z.string(),
      workspace_id: z.string().nullable().describe('Null: it belongs to the whole organisation.'),
      last_delivery: deliveryObject().nullable(),
      created_at: z.string(),
      last_updated_at: z.string(),
    })
    .meta({ id: 'AlertChannel' });
export type ShownChannel = Checked<typeof channelObject>;

/** How a test went at one channel. */
export const testedChannel = () =>
  z
    .object({
      id: z.uuid(),
      object: z.literal('alert_channel.test'),
      channel: z.object({ id: z.uuid(), name: z.string() }),
      delivered: z.boolean(),
      response_status: z.number().int().nullable().describe('What the receiver answered, of HTTP or of SMTP.'),
      error: z.string().nullable(),
    })
    .meta({ id: 'AlertChannelTest' });
export type TestedChannel = Checked<typeof testedChannel>;

export const shownChannel = (channel: Channel): ShownChannel => ({
  id: channel.id,
  object: 'alert_channel',
  name: channel.name,
  kind: channel.kind,
  settings: shownSettings(channel.settings),
  is_enabled: channel.is_enabled === 1,
  organisation_id: channel.organisation_id,
  workspace_id: channel.workspace_id,
  last_delivery: channel.last_delivery === null ? null : JSON.parse(channel.last_delivery),
  created_at: new Date(channel.created_at).toISOString(),
  last_updated_at: new Date(channel.updated_at).toISOString(),
});

function shownSettings(settings: ChannelSettings): ShownChannel['settings'] {
  if (!isMail(settings)) return { url: maskedAddress(settings.url) };
  const { password, username, ...plain } = settings;
  return { ...plain, username: username ?? null, has_password: !!password };
}
