import type { AnyDb, Engine } from '../../migrate.ts';

export async function createPolicies(_db: AnyDb, _engine: Engine): Promise<void> {}
