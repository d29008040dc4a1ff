import * as z from 'zod';
import type { VirtualKeys } from '../auth/virtual-keys.ts';
import { contextWindowOf } from '../core/context-windows.ts';
import { type Prices, priceListOf, whyUnpriced } from '../core/prices.ts';
import { post, type Route } from '../http/route.ts';

const MOST_MODELS = 5_000;

const request = () =>
  z.strictObject({
    models: z
      .array(z.string().min(1).max(256), { error: 'give a list of names' })
      .max(MOST_MODELS, `give at most ${MOST_MODELS} names`),
  });
const perMillion = () => z.number().nullable().describe('US dollars per million tokens; null: not paid by tokens.');
const known = () =>
  z.object({
    model: z.string(),
    input: perMillion(),
    output: perMillion(),
    cached: perMillion(),
    is_priced: z.boolean().describe('false: budgets in dollars refuse its calls, unless they say otherwise.'),
    context: z.number().int().nullable().describe('Tokens in and out together, where that is known.'),
    note: z.string().nullable().describe('Why it has no price, such as that its provider has retired it.'),
  });
const query = () => z.strictObject({ workspace_id: z.string().min(1).optional() });

/** What calls by a virtual key would be priced at: its own prices, over the lists in force. */
export const modelPriceRoutes = ({ virtualKeys, prices }: { virtualKeys: VirtualKeys; prices: Prices }): Route[] => [
  post(
    '/v1/virtual-keys/:slug/prices',
    {
      scopes: ['virtual_keys.read'],
      summary: 'What models cost by a virtual key, and what else is known of them',
      query,
      body: request,
      response: () => z.object({ object: z.literal('list'), data: z.array(known()) }),
    },
    async ({ principal, params, query, body }) => {
      const found = await virtualKeys.read(principal, { slug: params.slug, workspace: query.workspace_id });
      const own = found.configurations.prices as Parameters<typeof priceListOf>[0] | undefined;
      const overrides = own ? priceListOf(own) : null;
      return {
        object: 'list',
        data: body.models.map((model) => {
          const price = prices.priceOf(found.provider, model, overrides);
          return {
            model,
            input: price?.rates?.input ?? null,
            output: price?.rates?.output ?? null,
            cached: price?.rates?.cached ?? null,
            is_priced: price !== null,
            context: contextWindowOf(model),
            note: price ? null : whyUnpriced(found.provider, model),
          };
        }),
      };
    },
  ),
];
