import * as z from 'zod';
import { type Metadata, newMetadata } from '../core/metadata-rule.ts';
import type { Checked } from '../core/schema.ts';

const MOST_SEED = 2_147_483_647;

/** A number, or the word that leaves it to the provider. No union: faults then tell whole numbers from others. */
const orAuto = (number: z.ZodType<number>) =>
  z
    .custom<number | 'auto'>()
    .superRefine((value, context) => {
      if (value === 'auto') return;
      if (typeof value === 'string') context.addIssue({ code: 'invalid_value', values: ['auto'], input: value });
      else
        for (const issue of number.safeParse(value).error?.issues ?? [])
          context.addIssue({ ...issue, input: value } as Parameters<typeof context.addIssue>[0]);
    })
    .meta({ anyOf: [{ const: 'auto' }, { type: 'number' }] });

const positive = () => z.number().refine((value) => value > 0, 'it must be above 0');
const common = () => ({
  batch_size: orAuto(z.int().min(1).max(256)).nullish(),
  learning_rate_multiplier: orAuto(positive()).nullish(),
  n_epochs: orAuto(z.int().min(1).max(50)).nullish(),
});
const supervised = () => z.strictObject(common());
const dpo = () => z.strictObject({ ...common(), beta: orAuto(positive().max(2)).nullish() });
const reinforcement = () =>
  z.strictObject({
    ...common(),
    reasoning_effort: z.enum(['default', 'low', 'medium', 'high']).nullish(),
    compute_multiplier: orAuto(z.number().min(1e-5).max(10)).nullish(),
    eval_interval: orAuto(z.int().min(1)).nullish(),
    eval_samples: orAuto(z.int().min(1)).nullish(),
  });
const grader = () =>
  z.looseObject({
    type: z.enum(['string_check', 'text_similarity', 'python', 'score_model', 'multi']),
    name: z.string().min(1),
  });

/** Only the member that `type` names counts; clients send the others along. */
const method = () =>
  z.discriminatedUnion('type', [
    z.looseObject({
      type: z.literal('supervised'),
      supervised: z.looseObject({ hyperparameters: supervised().nullish() }).nullish(),
    }),
    z.looseObject({ type: z.literal('dpo'), dpo: z.looseObject({ hyperparameters: dpo().nullish() }).nullish() }),
    z.looseObject({
      type: z.literal('reinforcement'),
      reinforcement: z.looseObject({ grader: grader(), hyperparameters: reinforcement().nullish() }),
    }),
  ]);

const integration = () =>
  z.strictObject({
    type: z.enum(['wandb']),
    wandb: z.strictObject({
      project: z.string().min(1),
      name: z.string().nullish(),
      entity: z.string().nullish(),
      tags: z.array(z.string()).nullish(),
    }),
  });
export type Integration = Checked<typeof integration>;

/** The vendor's body is open: members that are not known here go to providers that speak its format, and no others. */
export const createJob = () =>
  z.looseObject({
    model: z.string().min(1).max(256).describe('The base model.'),
    training_file: z.string().min(1).max(1024).describe('A file of the purpose fine-tune, or an address in a bucket.'),
    validation_file: z.string().min(1).max(1024).nullish(),
    suffix: z.string().min(1).max(64).nullish().describe('Becomes part of the name of the model.'),
    seed: z.int().min(0).max(MOST_SEED).nullish(),
    method: method().nullish(),
    hyperparameters: supervised().nullish().describe('As method.supervised.hyperparameters, which it gives way to.'),
    integrations: z.array(integration()).max(5).nullish(),
    metadata: newMetadata,
    provider_options: z
      .record(z.string(), z.union([z.string().max(256), z.number(), z.boolean()]))
      .nullish()
      .describe('Settings that only the chosen provider has.'),
  });

export type Hyperparameters = Readonly<Record<string, number | string>>;

export interface Method {
  readonly type: 'supervised' | 'dpo' | 'reinforcement';
  /** Those that were given. */
  readonly hyperparameters: Hyperparameters;
  readonly grader?: unknown;
}

/** What was asked for, each thing in one place. */
export interface JobRequest {
  readonly model: string;
  readonly training_file: string;
  readonly validation_file: string | null;
  readonly suffix: string | null;
  readonly seed: number;
  /** False: the gateway chose it. */
  readonly isSeedGiven: boolean;
  readonly method: Method;
  readonly isMethodGiven: boolean;
  readonly integrations: readonly Integration[] | null;
  readonly metadata: Metadata;
  readonly providerOptions: Readonly<Record<string, string | number | boolean>>;
  /** Members that are not known here. */
  readonly extra: Readonly<Record<string, unknown>>;
}

export function requestOf(body: Checked<typeof createJob>, random: () => number): JobRequest {
  const {
    model,
    training_file,
    validation_file,
    suffix,
    seed,
    method: asked,
    hyperparameters: legacy,
    integrations,
    metadata,
    provider_options,
    ...extra
  } = body;
  return {
    model,
    training_file,
    validation_file: validation_file ?? null,
    suffix: suffix ?? null,
    seed: seed ?? Math.floor(random() * (MOST_SEED + 1)),
    isSeedGiven: typeof seed === 'number',
    method: asked ? methodOf(asked) : { type: 'supervised', hyperparameters: given(legacy) },
    isMethodGiven: Boolean(asked ?? legacy),
    integrations: integrations ?? null,
    metadata,
    providerOptions: provider_options ?? {},
    extra,
  };
}

function methodOf(asked: Checked<typeof method>): Method {
  switch (asked.type) {
    case 'supervised':
      return { type: 'supervised', hyperparameters: given(asked.supervised?.hyperparameters) };
    case 'dpo':
      return { type: 'dpo', hyperparameters: given(asked.dpo?.hyperparameters) };
    case 'reinforcement': {
      const { grader: judge, hyperparameters } = asked.reinforcement;
      return { type: 'reinforcement', hyperparameters: given(hyperparameters), grader: judge };
    }
    default:
      return asked satisfies never;
  }
}

const given = (parameters: object | null | undefined): Hyperparameters =>
  Object.fromEntries(Object.entries(parameters ?? {}).filter(([, value]) => value !== null && value !== undefined));
