import type { AnyDb, Engine } from '../../migrate.ts';

export async function createLimits(_db: AnyDb, _engine: Engine): Promise<void> {}
