import type { AnyDb, Engine } from '../../migrate.ts';

export async function createBlobs(_db: AnyDb, _engine: Engine): Promise<void> {}
