import * as z from 'zod';
import { pageOf, pageQuery } from '../core/paging.ts';
import { deleted, name } from '../http/resource.ts';
import { del, get, post, put, type Route } from '../http/route.ts';
import { PAGES, viewObject } from './view.ts';
import type { Views } from './views.ts';

const MOST_PAIRS = 30;
const page = () => z.enum(PAGES, { error: `give one of ${PAGES.join(', ')}` });
const NAME = /^[a-z][a-z_]{0,39}$/;
const FAULTS: Readonly<Record<string, string>> = {
  invalid_type: 'give an object of names and texts',
  invalid_key: 'a name has 1 to 40 small letters and underscores',
};
const query = () =>
  z
    .record(z.string().regex(NAME), z.string('give texts as values').max(2_000, 'give at most 2000 characters'), {
      error: ({ code }) => FAULTS[code ?? ''],
    })
    .refine((pairs) => Object.keys(pairs).length <= MOST_PAIRS, `give at most ${MOST_PAIRS} pairs`);
const settings = () => ({ name: name(), query: query(), is_shared: z.boolean() });

const create = () =>
  z.strictObject({
    ...settings(),
    page: page(),
    is_shared: z.boolean().optional().describe('Your own, unless given. A key that is of no user can only share.'),
    workspace_id: z.string().min(1).optional().describe('Its workspace, by id or slug; the own one unless given.'),
  });
const update = () => z.strictObject(settings()).partial();
const listQuery = () => pageQuery().extend({ workspace_id: z.string().optional(), page: page().optional() });

const PATH = '/v1/views';
const ONE = `${PATH}/:id` as const;
const audit = { resource: 'views' } as const;

export const viewRoutes = (views: Views): Route[] => [
  post(
    PATH,
    {
      scopes: ['views.create'],
      audit,
      summary: 'Save what Overview, Explore or Logs shows, for yourself or for the workspace',
      body: create,
      response: viewObject,
    },
    (call) => views.create(call.principal, call.body),
  ),
  get(
    PATH,
    {
      scopes: ['views.list'],
      summary: 'Your own saved views, and those that the workspace shares',
      query: listQuery,
      response: () => pageOf(viewObject),
    },
    (call) => views.list(call.principal, call.query),
  ),
  get(ONE, { scopes: ['views.read'], summary: 'One saved view', response: viewObject }, (call) =>
    views.read(call.principal, call.params.id),
  ),
  put(
    ONE,
    {
      scopes: ['views.update'],
      audit,
      summary: 'Rename a saved view, share it or take it back, or save another query in it',
      body: update,
      response: viewObject,
    },
    (call) => views.update(call.principal, call.params.id, call.body),
  ),
  del(
    ONE,
    { scopes: ['views.delete'], audit, summary: 'Delete a saved view', response: () => deleted('view') },
    async (call) => ({ id: await views.delete(call.principal, call.params.id), object: 'view', deleted: true }),
  ),
];
