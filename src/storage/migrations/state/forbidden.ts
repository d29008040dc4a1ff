import type { AnyDb } from '../../migrate.ts';

/** What calls may not bring along: JSON arrays of names. */
export async function createForbidden({ schema }: AnyDb): Promise<void> {
  for (const table of ['organisations', 'workspaces', 'api_keys'])
    await schema.alterTable(table).addColumn('forbidden', 'text').execute();
}
