import type { AnyDb, Engine } from '../../migrate.ts';

export async function createWork(_db: AnyDb, _engine: Engine): Promise<void> {}
