import * as z from 'zod';

/** An address that a check calls. */
export const address = () =>
  z
    .url({ protocol: /^https?$/, error: 'give an http(s) address' })
    .max(2_048)
    .refine((url) => {
      const { username = '', password = '' } = URL.parse(url) ?? {};
      return username === '' && password === '';
    }, 'must not hold a user name or a password; send them as a header');

export const timeoutMs = (fallback: number) =>
  z
    .int('give whole milliseconds')
    .min(1, 'give at least 1')
    .max(60_000, 'give at most 60000')
    .default(fallback)
    .describe('Milliseconds.');

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Headers to send; their values are secrets. */
export const headers = () =>
  z
    .record(z.string(), z.string().max(8_192), { error: 'give an object of texts by header name' })
    .default({})
    .superRefine((given, context) => {
      for (const [name, value] of Object.entries(given)) {
        const refuse = (message: string) => context.addIssue({ code: 'custom', path: [name], message });
        if (!HEADER_NAME.test(name)) refuse('is not a header name');
        else if (isOfTheConnection(name.toLowerCase())) refuse('belongs to the connection and cannot be set');
        else if (!HEADER_VALUE.test(value)) refuse('holds a character that a header cannot carry');
      }
    });

const CONNECTION = new Set([
  'host',
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'content-length',
  'expect',
]);
const isOfTheConnection = (name: string) => CONNECTION.has(name);

/** Headers in which a caller sends credentials. They must not be sent to the address of a check. */
const CREDENTIALS = new Set([
  'authorization',
  'proxy-authorization',
  'cookie',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'ocp-apim-subscription-key',
  'metadata-flavor',
  'x-aws-ec2-metadata-token',
  'metadata',
]);
const GIVEN_ON = new Set(['x-gateway-trace-id', 'x-gateway-span-id']);

/** Names of request headers that are sent on. */
export const forwardHeaders = () =>
  z
    .array(
      z
        .string()
        .regex(HEADER_NAME, 'is not a header name')
        .transform((name) => name.toLowerCase())
        .refine(
          (name) => !CREDENTIALS.has(name) && !isOfTheConnection(name),
          'cannot be sent on: it carries a credential or belongs to the connection',
        )
        .refine(
          (name) => !name.startsWith('x-gateway-') || GIVEN_ON.has(name),
          'cannot be sent on; of x-gateway-* only x-gateway-trace-id and x-gateway-span-id can',
        ),
      { error: 'give a list of header names' },
    )
    .max(50)
    .default([]);
