import * as z from 'zod';
import { del, get, post, type Route } from '../http/route.ts';
import type { PriceSync } from '../telemetry/price-sync.ts';

const synced = () =>
  z
    .object({
      object: z.literal('price_list'),
      source: z.string(),
      sha256: z.string(),
      as_of: z.string().nullable(),
      models: z.number().int(),
      synced_at: z.string(),
    })
    .meta({ id: 'PriceList' });
const held = () => z.object({ synced: synced().nullable() });

const request = () =>
  z
    .strictObject({
      source: z
        .string()
        .min(1)
        .max(2_000)
        .describe('The https address of the list. With `content`, only a name for the record.'),
      content: z.string().optional().describe('The list itself, as text; it is fetched from `source` when left out.'),
      sha256: z
        .string()
        .regex(/^[0-9a-f]{64}$/i, 'give 64 hexadecimal digits')
        .optional()
        .describe('Of the bytes of the list.'),
      signature: z
        .string()
        .max(200)
        .optional()
        .describe('Of the bytes, by the key whose public part is GATEWAY_PRICES_SYNC_KEY: Ed25519, in base64.'),
    })
    .refine(({ content, source }) => content !== undefined || /^https?:\/\//.test(source), {
      path: ['source'],
      error: 'give an address, or the list itself as content',
    });

/** The list of prices that is held for all nodes. */
export const priceRoutes = (prices: PriceSync): Route[] => [
  get(
    '/v1/admin/prices',
    { scopes: ['organisation.read'], summary: 'The list of prices that was synced, if there is one', response: held },
    async () => ({ synced: await prices.read() }),
  ),
  post(
    '/v1/admin/prices/sync',
    {
      scopes: ['organisation.manage'],
      audit: { resource: 'prices', action: 'sync' },
      summary: 'Take over a list of prices, on every node; its sha256 or its signature is required',
      body: request,
      response: synced,
      largestBody: 8 << 20,
    },
    ({ principal, body: { source, content = null, sha256, signature } }) =>
      prices.sync(principal, { source, content, sha256, signature }),
  ),
  del(
    '/v1/admin/prices',
    {
      scopes: ['organisation.manage'],
      audit: { resource: 'prices' },
      summary: 'Do without the synced list: the built-in one is in force again',
      response: held,
    },
    async ({ principal }) => {
      await prices.remove(principal);
      return { synced: null };
    },
  ),
];
