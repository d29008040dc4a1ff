import { z } from 'zod';
import { readOrganisation } from '../auth/organisation.ts';
import { get, type Route } from '../http/route.ts';
import type { Store } from '../storage/store.ts';

const organisation = z
  .object({ id: z.uuid(), object: z.literal('organisation'), name: z.string(), created_at: z.string() })
  .meta({ id: 'Organisation' });

export const organisationRoutes = (store: Store): Route[] => [
  get(
    '/v1/admin/organisation',
    { scopes: ['organisation.read'], summary: 'The organisation of the calling key', response: organisation },
    (call) => readOrganisation(store.db, call.principal.organisationId),
  ),
];
