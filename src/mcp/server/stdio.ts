import * as z from 'zod';
import { type AllowedProgram, findAllowed, isArgument } from '../../core/allowed-programs.ts';
import { fail } from '../../core/errors.ts';
import { MASKED } from '../../core/masked-address.ts';
import type { Checked } from '../../core/schema.ts';
import { mask } from '../../crypto/seal.ts';
import type { AuthType, Configurations } from './configuration.ts';

/** A server that is a program, which the gateway runs and speaks to on its standard input and output. */

const NO_ARGUMENT = 'give at most 4096 characters, none of them NUL';
const argument = () => z.string({ error: 'give a text' }).refine(isArgument, NO_ARGUMENT);

export const stdio = () =>
  z.strictObject({
    command: argument().min(1, 'give the whole path of a program'),
    args: z.array(argument(), { error: 'give a list of texts' }).max(100, 'give at most 100 arguments').optional(),
    env: z
      .record(z.string(), argument(), { error: 'give an object of names and texts' })
      .refine((env) => Object.keys(env).length <= 100, 'give at most 100 variables')
      .optional(),
  });

export type Stdio = Checked<typeof stdio>;

const WHERE = 'configurations.stdio';

/** In the place of the address that other servers have. */
export const stdioAddress = ({ command }: Stdio): string => `stdio:${command}`;
export const isStdioAddress = (url: string): boolean => url.startsWith('stdio:');

/** Of a program, which gets no headers and has no address. */
const OF_ADDRESSES = ['headers', 'passthrough_headers', 'forward_headers', 'oauth_metadata', 'openapi'] as const;

/** Refuses what the operator does not allow, and what would have no effect. */
export function checkStdio(
  { authType, configurations }: { readonly authType: AuthType; readonly configurations: Configurations },
  allowed: readonly AllowedProgram[],
) {
  const { transport, stdio: given, user_identity_forwarding: identity } = configurations;
  if (transport !== 'stdio') {
    if (given) fail('invalid_request', WHERE, 'needs the transport stdio; set it, or leave this out');
    return;
  }
  if (!given) return;
  const { command, args = [], env = {} } = given;
  if (allowed.length === 0)
    fail('invalid_request', `${WHERE}.command`, 'the gateway runs no programs: its operator sets GATEWAY_MCP_COMMANDS');
  const program = findAllowed(allowed, { command, args });
  if (!program) {
    const isKnown = allowed.some((each) => each.command === command);
    const why = isKnown
      ? 'are not those with which the operator allows this program (GATEWAY_MCP_COMMANDS)'
      : 'is no program that the operator allows (GATEWAY_MCP_COMMANDS); give one of its paths, letter by letter';
    return fail('invalid_request', `${WHERE}.${isKnown ? 'args' : 'command'}`, why);
  }
  for (const name of Object.keys(env))
    if (!program.env.includes(name))
      fail('invalid_request', `${WHERE}.env.${name}`, 'is no variable that the operator allows for this program');
  for (const member of OF_ADDRESSES)
    if (configurations[member] !== undefined)
      fail('invalid_request', `configurations.${member}`, 'has no effect on a program; leave it out');
  if (authType !== 'none') fail('invalid_request', 'auth_type', 'is "none" for a program, which gets secrets as env');
  if (identity?.header_name !== undefined)
    fail('invalid_request', 'configurations.user_identity_forwarding.header_name', 'has no effect on a program');
}

export const shownStdio = (given: Stdio): Stdio => ({
  ...given,
  ...(given.env && { env: Object.fromEntries(Object.entries(given.env).map(([name, value]) => [name, mask(value)])) }),
});

export function refuseMaskedStdio(given: Stdio | undefined): void {
  for (const [name, value] of Object.entries(given?.env ?? {}))
    if (value.includes(MASKED)) fail('invalid_request', `${WHERE}.env.${name}`, 'is masked; send the secret itself');
}
