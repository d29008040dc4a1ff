import * as z from 'zod';
import { type Checked, schemaOf } from './schema.ts';

const number = (unit: string) =>
  z
    .number({ error: `give US dollars per ${unit} as a number` })
    .min(0, 'must not be negative; 0 means free')
    .max(1e6, 'give at most 1000000');

const perMillion = () => number('million tokens');

const rates = () => ({
  input: perMillion(),
  output: perMillion(),
  cached: perMillion().optional(),
  cache_write: perMillion().optional(),
  cache_write_hour: perMillion().optional(),
  audio_input: perMillion().optional(),
  audio_output: perMillion().optional(),
  image_input: perMillion().optional(),
  image_output: perMillion().optional(),
});

const form = 'give {"input": …, "output": …} in US dollars per million tokens';

const tiers = () =>
  z
    .array(
      z.strictObject({
        ...rates(),
        tokens: z.number({ error: 'give a number of input tokens' }).int().min(1),
      }),
      { error: 'give a list of {"tokens": …, "input": …, "output": …}' },
    )
    .min(1, 'give at least one')
    .max(10, 'give at most 10')
    .refine((all) => all.every(({ tokens }, index) => index === 0 || tokens > all[index - 1]!.tokens), {
      error: 'tokens must rise from tier to tier',
    });

const image = () =>
  z.union(
    [
      number('image'),
      z.record(z.string().min(1).max(64), number('image')).refine((all) => Object.keys(all).length > 0),
    ],
    {
      error:
        'give US dollars per image, or an object of them by size ("1024x1024") or quality and size ("hd 1024x1024")',
    },
  );

const UNITS = ['image', 'minute', 'characters', 'searches'] as const;

const price = () =>
  z
    .strictObject(
      {
        ...rates(),
        input: perMillion().optional(),
        output: perMillion().optional(),
        /** For prompts of more than so many tokens; the whole call then has these prices. */
        above: tiers().optional(),
        /** In a batch of the provider's; half of everything where it is left out. */
        batch: z.strictObject(rates(), { error: form }).optional(),
        image: image().optional(),
        /** Of sound that is heard. */
        minute: number('minute of audio').optional(),
        /** A million of them, spoken. */
        characters: number('million characters').optional(),
        /** A thousand of them: what a rerank is counted in. */
        searches: number('thousand searches').optional(),
      },
      { error: form },
    )
    .superRefine((one, context) => {
      const add = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message });
      const hasTokens = one.input !== undefined || one.output !== undefined;
      if (!hasTokens && UNITS.every((unit) => one[unit] === undefined)) add('input', form);
      if (hasTokens && one.input === undefined) add('input', form);
      if (hasTokens && one.output === undefined) add('output', form);
      if (!hasTokens)
        for (const name of ['cached', 'cache_write', 'cache_write_hour', 'above', 'batch'] as const)
          if (one[name] !== undefined) add(name, 'is for prices with input and output');
    });
export type WrittenPrice = Checked<typeof price>;

/** Prices of models as people write them, in a file or in a virtual key's `configurations.prices`. */
export const priceMembers = () =>
  z.record(z.string().min(1).max(256), schemaOf(price), {
    error: 'give an object of prices by model name',
  });

const sources = () =>
  z.record(
    z.string().min(1).max(256),
    z.strictObject({ page: z.string().max(2_000), as_of: z.string().max(64).optional() }),
  );

/** The operator's file, and one that is synced. The built-in list, `price-list.json`, has the same form. */
export const priceFile = () =>
  z.strictObject(
    {
      as_of: z.string().optional(),
      /** Whether the built-in list stays below this one. */
      built_in: z.boolean({ error: 'give true or false' }).optional(),
      /** Where each provider's prices come from. */
      sources: sources().optional(),
      prices: z.record(z.string().min(1).max(256), schemaOf(priceMembers), {
        error: 'give an object of providers, each with its models',
      }),
      /** Models that are known and have no price here, each with the reason. */
      unpriced: z
        .record(z.string().min(1).max(256), z.record(z.string().min(1).max(256), z.string().max(200)))
        .optional(),
    },
    { error: 'give {"prices": {"<provider>": {"<model>": {"input": …, "output": …}}}}' },
  );
export type PriceFile = Checked<typeof priceFile>;
