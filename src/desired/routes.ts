import * as z from 'zod';
import { SCOPES } from '../core/scopes.ts';
import { type Call, get, post, type Route } from '../http/route.ts';
import { type ApplyDeps, type Asking, createApplying } from './apply.ts';
import { readState } from './state.ts';

const sent = () =>
  z.strictObject({
    file: z
      .record(z.string(), z.unknown(), { error: 'give the file of gateway apply as an object' })
      .describe(
        'What `gateway apply` reads, as JSON; each secret stands there as `{"secret_value": "…"}`, or as a reference to a secret store.',
      ),
    prune: z
      .boolean({ error: 'give true or false' })
      .default(false)
      .describe('Delete what an earlier version of the file made and this one no longer names.'),
  });
const agreed = () =>
  sent().extend({
    agreement: z
      .string()
      .regex(/^[0-9a-f]{64}$/, 'give the agreement of a plan, 64 hexadecimal digits')
      .optional()
      .describe('Of the plan that was shown: this is done, or nothing. Left out: whatever the file asks for now.'),
  });

const plan = () =>
  z
    .object({
      object: z.literal('apply-plan'),
      name: z.string().nullable().describe('What the file calls itself; by it, `prune` knows what it has made.'),
      steps: z.array(
        z.object({
          action: z.enum(['create', 'change', 'delete']),
          kind: z.string(),
          title: z.string(),
          workspace: z.string().nullable(),
          differences: z
            .array(
              z.object({
                field: z.string(),
                is_secret: z.boolean().describe('Whether no more is told than that it is another one.'),
                from: z.unknown().optional(),
                to: z.unknown().optional(),
              }),
            )
            .describe('What is another one after a change.'),
        }),
      ),
      unchanged: z.int().describe('How many objects of the file are as it says.'),
      kept: z.array(z.string()).describe('Made by this file once, no longer in it, and kept without `prune`.'),
      faults: z.array(
        z
          .object({ path: z.array(z.union([z.string(), z.int()])), message: z.string() })
          .describe('What is wrong where.'),
      ),
      missing_scopes: z.array(z.enum(SCOPES)).describe('What the caller would need for the steps and does not hold.'),
      agreement: z.string().nullable().describe('For `POST /v1/admin/apply`; null where there are faults.'),
    })
    .meta({ id: 'ApplyPlan' });

const exported = () =>
  z.object({
    object: z.literal('export'),
    file: z.record(z.string(), z.unknown()).describe('A file for `gateway apply`; secrets are references in it.'),
    variables: z.array(z.string()).describe('The variables of the environment that the references name.'),
    left_out: z.array(z.string()).describe('What such a file cannot say.'),
  });

/** Ten times what people write, and little enough to be held whole. */
const LARGEST_FILE = 4 << 20;

const askingOf = ({ principal: who, path, requestId, clientAddress }: Call): Asking => ({
  ...{ who, path, requestId, clientAddress },
});

export function applyRoutes(deps: ApplyDeps): Route[] {
  const applying = createApplying(deps);
  return [
    post(
      '/v1/admin/apply/plan',
      {
        scopes: ['workspaces.read'],
        summary: 'How the database differs from a file of what is to exist; changes nothing',
        body: sent,
        response: plan,
        largestBody: LARGEST_FILE,
      },
      (call) => applying.plan(askingOf(call as Call), call.body),
    ),
    post(
      '/v1/admin/apply',
      {
        scopes: ['workspaces.read'],
        audit: { resource: 'desired_state', action: 'apply' },
        summary: 'Make the database as a file says: all of it in one transaction, or nothing',
        body: agreed,
        response: plan,
        largestBody: LARGEST_FILE,
      },
      (call) => applying.carryOut(askingOf(call as Call), call.body),
    ),
    get(
      '/v1/admin/export',
      {
        scopes: [
          'organisation.manage',
          'organisation.read',
          'workspaces.read',
          'virtual_keys.read',
          'configs.read',
          'api_keys.read',
          'policies.read',
        ],
        summary: 'What the database holds, as a file for gateway apply',
        response: exported,
      },
      async (call) => {
        const { file, variables, leftOut } = await readState({ ...deps, who: call.principal });
        return { object: 'export', file, variables, left_out: leftOut };
      },
    ),
  ];
}
