import type { AnyDb } from '../../migrate.ts';

/** The models that a key may call: a JSON array of names. */
export async function createKeyModels({ schema }: AnyDb): Promise<void> {
  await schema.alterTable('api_keys').addColumn('models', 'text').execute();
}
