import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { fail, GatewayError } from '../../core/errors.ts';
import { changedAddress, maskedAddress, refuseMaskedAddress } from '../../core/masked-address.ts';
import type { Checked } from '../../core/schema.ts';
import type { EgressPolicy } from '../../http/egress.ts';
import { checkStoredAddress } from '../../http/stored-address.ts';
import { UpstreamFailure } from '../../http/upstream.ts';
import { DescriptionFault } from '../openapi/fault.ts';
import { MOST_DESCRIPTION_BYTES } from '../openapi/reading.ts';
import { METHODS, toolsOfDescription } from '../openapi/tools.ts';
import type { Configurations, StoredConfigurations } from './configuration.ts';

/** A server that is an API with an OpenAPI description. */

const texts = () =>
  z
    .array(z.string().min(1).max(256), { error: 'give a list of texts' })
    .min(1, 'give at least one')
    .max(500)
    .optional();
const filter = () =>
  z
    .strictObject({
      tags: texts(),
      methods: z
        .array(z.enum(METHODS, { error: `give ${METHODS.map((each) => `"${each}"`).join(', ')}` }))
        .min(1, 'give at least one')
        .optional(),
      operations: texts(),
    })
    .refine((given) => Object.keys(given).length > 0, 'says nothing; give tags, methods or operations');

export const openapi = () =>
  z
    .strictObject({
      text: z
        .string({ error: 'give the description as a text, JSON or YAML' })
        .min(1)
        .max(MOST_DESCRIPTION_BYTES)
        .optional(),
      url: z
        .url({ protocol: /^https?$/, error: 'give the http(s) address of the description' })
        .max(2_048)
        .optional(),
      include: filter().optional(),
      exclude: filter().optional(),
    })
    .refine(({ text, url }) => text === undefined || url === undefined, 'has a text and a url; give one of them');

export type OpenApi = Checked<typeof openapi>;

export interface OpenApiDeps {
  readonly egress: EgressPolicy;
  /** Reads a description; answers its text. */
  readonly fetchDescription: (url: string) => Promise<Response>;
}

const WHERE = 'configurations.openapi';

/** What a server stores of the description that it was given, or had before. */
export async function withDescription(
  given: Configurations,
  before: StoredConfigurations | null,
  deps: OpenApiDeps,
): Promise<StoredConfigurations> {
  const { openapi: asked } = given;
  if ((given.transport === 'openapi') !== (asked !== undefined))
    fail('invalid_request', WHERE, asked ? 'needs transport openapi' : 'is missing; transport openapi needs it');
  if (!asked) return given;
  const { text, ...kept } = asked;
  if (text !== undefined)
    return { ...given, openapi: kept, openapi_tools: await toolsOf(text, asked, `${WHERE}.text`) };
  const had = before?.openapi_tools;
  if (had && before && isDeepStrictEqual(before.openapi, kept)) return { ...given, openapi: kept, openapi_tools: had };
  if (kept.url === undefined)
    return fail(
      'invalid_request',
      `${WHERE}.text`,
      had
        ? 'is missing; it is read anew when what is included changes'
        : 'is missing; give the description, or its url',
    );
  return { ...given, openapi: kept, openapi_tools: await fetched(kept, kept.url, deps) };
}

/** The tools of a description as it is now at its address. */
async function fetched(asked: OpenApi, url: string, { egress, fetchDescription }: OpenApiDeps) {
  const where = `${WHERE}.url`;
  await checkStoredAddress(egress, url, where);
  let text: string;
  try {
    const answer = await fetchDescription(url);
    if (answer.status !== 200) fail('invalid_request', where, `cannot be read: it answered ${answer.status}`);
    text = await answer.text();
  } catch (error) {
    const told = error instanceof UpstreamFailure ? error.toGatewayError() : error;
    if (!(told instanceof GatewayError) || told.code === 'invalid_request') throw told;
    return fail('invalid_request', where, `cannot be read: ${told.message}`);
  }
  return toolsOf(text, asked, where);
}

async function toolsOf(text: string, asked: OpenApi, where: string) {
  try {
    return await toolsOfDescription(text, asked);
  } catch (error) {
    if (error instanceof DescriptionFault) return fail('invalid_request', where, `cannot be used: ${error.message}`);
    throw error;
  }
}

/** The same configurations with the description as it is now; null where it has no address, or nothing has changed. */
export async function readAnew(stored: StoredConfigurations, deps: OpenApiDeps): Promise<StoredConfigurations | null> {
  const { openapi: asked, openapi_tools: had } = stored;
  if (asked?.url === undefined) return null;
  const tools = await fetched(asked, asked.url, deps);
  return isDeepStrictEqual(JSON.parse(JSON.stringify(tools)), had) ? null : { ...stored, openapi_tools: tools };
}

/** An address that comes back as it was shown is still the stored one. */
export function withStoredAddress(given: unknown, stored: OpenApi | undefined): unknown {
  if (given === null || typeof given !== 'object' || !('url' in given) || typeof given.url !== 'string') return given;
  const where = `${WHERE}.url`;
  if (stored?.url === undefined) refuseMaskedAddress(given.url, where);
  return stored?.url === undefined ? given : { ...given, url: changedAddress(given.url, stored.url, where) };
}

export const shownOpenApi = (given: OpenApi): OpenApi =>
  given.url === undefined ? given : { ...given, url: maskedAddress(given.url) };
