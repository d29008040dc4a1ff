import * as z from 'zod';
import type { OrganisationStore } from '../auth/organisation.ts';
import type { GuardrailDefaultsStore } from '../guardrails/defaults.ts';
import { name } from '../http/resource.ts';
import { get, put, type Route } from '../http/route.ts';
import { forbidden, guardrailDefaults, shownForbidden } from './schemas.ts';

const organisation = () =>
  z
    .object({
      id: z.uuid(),
      object: z.literal('organisation'),
      name: z.string(),
      ...shownForbidden(),
      created_at: z.string(),
    })
    .meta({ id: 'Organisation' });

const update = () => z.strictObject({ name: name().optional().describe('People who sign in see it.'), ...forbidden() });
const defaults = () => z.strictObject(guardrailDefaults());

export interface OrganisationParts {
  readonly organisation: OrganisationStore;
  readonly guardrailDefaults: GuardrailDefaultsStore;
}

export const organisationRoutes = ({ organisation: ours, guardrailDefaults }: OrganisationParts): Route[] => [
  get(
    '/v1/admin/organisation',
    { scopes: ['organisation.read'], summary: 'The organisation of the calling key', response: organisation },
    (call) => ours.read(call.principal),
  ),
  put(
    '/v1/admin/organisation',
    {
      scopes: ['organisation.manage'],
      audit: { resource: 'organisation' },
      summary: 'Change its name, and what calls may not bring along, in every workspace',
      body: update,
      response: organisation,
    },
    (call) => ours.update(call.principal, call.body),
  ),
  get(
    '/v1/admin/organisation/defaults',
    {
      scopes: ['organisation.read'],
      summary: 'Guardrails that hold for every call of the organisation',
      response: defaults,
    },
    (call) => guardrailDefaults.readOrganisation(call.principal),
  ),
  put(
    '/v1/admin/organisation/defaults',
    {
      scopes: ['organisation.manage'],
      audit: { resource: 'organisation' },
      summary: 'Change them; a list that is given replaces the old one',
      body: defaults,
      response: defaults,
    },
    (call) => guardrailDefaults.updateOrganisation(call.principal, call.body),
  ),
];
