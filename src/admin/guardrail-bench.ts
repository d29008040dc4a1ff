import * as z from 'zod';
import type { Principal } from '../core/principal.ts';
import { type Checked, schemaOf } from '../core/schema.ts';
import { type Check, mayTransform } from '../guardrails/check.ts';
import { allChecks } from '../guardrails/checks/index.ts';
import { actionsSchema, checksSchema, type Guardrail } from '../guardrails/guardrail.ts';
import { checked } from '../guardrails/guardrail-rows.ts';
import type { Guardrails } from '../guardrails/guardrails.ts';
import { get, post, type Route } from '../http/route.ts';
import type { Bench } from '../relay/guarding/bench.ts';
import type { Configs } from '../routing/configs.ts';

export interface BenchParts {
  readonly guardrails: Guardrails;
  readonly configs: Configs;
  readonly bench: Bench;
}

const hook = () => z.enum(['input', 'output']);

const describedCheck = () =>
  z.object({
    id: z.string(),
    passes: z.string().describe('Completes "Passes when …".'),
    on: z.array(hook()),
    changes: z.boolean().describe('Whether it may put something else in the place of what it judges.'),
    judges: z.enum(['texts', 'body', 'call']),
    secrets: z.array(z.string()).describe('Parameters that are stored sealed and shown masked.'),
    parameters: z.record(z.string(), z.unknown()).describe('JSON Schema.'),
  });

const MOST_TEXT = 200_000;
/** A stream is looked at again and again while it comes. */
const MOST_STREAM = 20_000;
const MOST_PIECES = 2_000;
const pieces = () =>
  z
    .array(z.string().min(1, 'give pieces that are not empty'))
    .min(1, 'give at least one piece')
    .max(MOST_PIECES, `give at most ${MOST_PIECES} pieces`)
    .refine(
      (given) => given.reduce((sum, { length }) => sum + length, 0) <= MOST_STREAM,
      `give at most ${MOST_STREAM} characters in all`,
    );
const trial = () =>
  z
    .strictObject({
      guardrail: z
        .union(
          [
            z.string().min(1).max(255),
            z.strictObject({
              checks: checksSchema(),
              actions: actionsSchema().default(schemaOf(actionsSchema).parse({})),
            }),
          ],
          { error: 'give a slug, an id, or checks and actions' },
        )
        .describe('The slug or id of a guardrail, or one that is not stored yet.'),
      on: hook(),
      text: z.string().max(MOST_TEXT, `give at most ${MOST_TEXT} characters`).optional(),
      pieces: pieces()
        .optional()
        .describe('In the place of text: an answer that is streamed, as it comes from the provider.'),
      model: z.string().max(255).optional(),
      metadata: z.record(z.string(), z.string()).optional(),
    })
    .superRefine(({ on, text, pieces: given }, context) => {
      const refuse = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message });
      if (text === undefined && given === undefined) refuse('text', 'give text, or pieces of a streamed answer');
      if (text !== undefined && given !== undefined) refuse('pieces', 'give text or pieces, not both');
      if (given !== undefined && on !== 'output') refuse('pieces', 'only answers are streamed; give on "output"');
    });

const tried = () =>
  z.object({
    object: z.literal('guardrail-trial'),
    verdict: z.boolean().nullable().describe('null: none of its checks looks there.'),
    denied: z.boolean().describe('Whether a call would have ended with 446.'),
    text: z.string().describe('What would have gone on in the place of the text.'),
    transformed: z.boolean(),
    stream: z
      .union([z.enum(['nothing', 'whole']), z.int()])
      .describe('What a streamed answer waits for: nothing, so many characters, or its end.'),
    steps: z
      .array(
        z.object({
          said: z.string().describe('What the provider said; empty at the end of the stream.'),
          given: z.string().describe('What the client got then.'),
          held: z.int().describe('How many characters were held back by then.'),
        }),
      )
      .nullable()
      .describe('What became of each piece of a stream; null where a text was tried.'),
    ends: z
      .enum(['whole', 'refused', 'cut'])
      .nullable()
      .describe('What the client of the stream sees: all of it, 446 in its place, or an error after what it got.'),
    duration_ms: z.number(),
    checks: z.array(
      z.object({
        id: z.string(),
        name: z.string().nullable(),
        verdict: z.boolean(),
        transformed: z.boolean(),
        data: z.unknown(),
        log: z.unknown(),
        error: z.string().nullable(),
        duration_ms: z.number(),
      }),
    ),
  });

const use = () =>
  z.object({
    kind: z.enum(['organisation', 'workspace', 'api_key', 'config']),
    id: z.string(),
    name: z.string(),
    on: z.array(hook()),
  });

/** What a check is, for forms. */
const shown = (check: Check): z.output<ReturnType<typeof describedCheck>> => ({
  id: check.id,
  passes: check.passes,
  on: [...check.on],
  changes: typeof check.transforms === 'function' || mayTransform(check, {}),
  judges: check.judges ?? 'texts',
  secrets: [...(check.secrets ?? [])],
  parameters: z.toJSONSchema(check.parameters(), { io: 'input', unrepresentable: 'any' }) as Record<string, unknown>,
});

/** Made once, when they are first asked for. */
let described: ReturnType<typeof shown>[] | undefined;

async function tryOut(who: Principal, given: Checked<typeof trial>, { guardrails, bench }: BenchParts) {
  const guardrail: Guardrail =
    typeof given.guardrail === 'string'
      ? await guardrails.resolve(who, given.guardrail)
      : { ...checked(given.guardrail), id: 'draft' };
  const { on, text = '', pieces, model = null, metadata = {} } = given;
  const streamed = pieces && (await bench.tryStream(who, guardrail, { pieces, model, metadata }));
  const tried = streamed ?? (await bench.tryText(who, guardrail, { on, text, model, metadata }));
  const { result, isDenied, holds } = tried;
  return {
    object: 'guardrail-trial' as const,
    verdict: result.verdict,
    denied: isDenied,
    text: tried.text,
    transformed: result.transformed,
    stream: holds,
    steps: streamed ? [...streamed.steps] : null,
    ends: streamed?.ends ?? null,
    duration_ms: result.execution_time,
    checks: result.checks.map((each) => ({
      id: each.id,
      name: each.name ?? null,
      verdict: each.verdict,
      transformed: each.transformed,
      data: each.data ?? null,
      log: each.log ?? null,
      error: each.error?.message ?? null,
      duration_ms: each.execution_time,
    })),
  };
}

/** What helps to write a guardrail: which checks there are, a bench, and where it holds. */
export const benchRoutes = (parts: BenchParts): Route[] => [
  get(
    '/v1/guardrail-checks',
    {
      scopes: ['guardrails.read'],
      summary: 'Every check that a guardrail may have, with the form of its parameters',
      response: () => z.object({ object: z.literal('list'), data: z.array(describedCheck()) }),
    },
    () => {
      described ??= allChecks.map(shown);
      return { object: 'list', data: described };
    },
  ),
  post(
    '/v1/guardrails/try',
    {
      scopes: ['guardrails.update'],
      summary: 'Let a guardrail look at a text, without a call',
      body: trial,
      response: tried,
    },
    (call) => tryOut(call.principal, call.body, parts),
  ),
  get(
    '/v1/guardrails/:guardrail/uses',
    {
      scopes: ['guardrails.read'],
      summary: 'Who names a guardrail: defaults of the organisation, workspaces and keys, and configs',
      response: () => z.object({ object: z.literal('list'), data: z.array(use()) }),
    },
    async (call) => {
      const { row, uses } = await parts.guardrails.uses(call.principal, call.params.guardrail);
      const inConfigs = await parts.configs.naming(call.principal, new Set([row.slug, row.id]));
      return { object: 'list', data: [...uses, ...inConfigs] };
    },
  ),
];
