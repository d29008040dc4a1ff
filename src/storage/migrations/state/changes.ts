import type { AnyDb, Engine } from '../../migrate.ts';

export async function createChanges(_db: AnyDb, _engine: Engine): Promise<void> {}
