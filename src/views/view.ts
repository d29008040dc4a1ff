import * as z from 'zod';
import type { Checked } from '../core/schema.ts';
import type { SavedViewRow } from '../storage/schema.ts';

/** Pages whose views can be saved. */
export const PAGES = ['overview', 'explore', 'logs'] as const;
export type ViewPage = (typeof PAGES)[number];

export const viewObject = () =>
  z
    .object({
      id: z.uuid(),
      object: z.literal('view'),
      name: z.string(),
      page: z.enum(PAGES),
      query: z.record(z.string(), z.string()).describe('What stands in the address of the page.'),
      is_shared: z
        .boolean()
        .describe('Everybody of the workspace who may see views sees it; otherwise it is your own.'),
      workspace_id: z.string(),
      created_at: z.string(),
      last_updated_at: z.string(),
    })
    .meta({ id: 'View' });
export type View = Checked<typeof viewObject>;

export const shownView = (row: SavedViewRow): View => ({
  id: row.id,
  object: 'view',
  name: row.name,
  page: row.page as ViewPage,
  query: JSON.parse(row.query),
  is_shared: row.user_id === null,
  workspace_id: row.workspace_id,
  created_at: new Date(Number(row.created_at)).toISOString(),
  last_updated_at: new Date(Number(row.updated_at)).toISOString(),
});
