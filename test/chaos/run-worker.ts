import type { CallModel } from '../../src/relay/internal.ts';
import { openPostgres, openSqlite } from '../../src/storage/store.ts';
import type { Timing } from '../../src/work/work.ts';
import { createEngine } from '../assistants/engine.ts';

/** What one process that carries out runs is told, as JSON in its only argument. */
export interface RunWorkerOrder {
  readonly name: string;
  readonly place: { readonly postgres: string } | { readonly sqlite: string };
  readonly timing: Partial<Timing>;
  /** Where the model is. */
  readonly provider: string;
}

/** Everything it does is in the database. Ends on SIGTERM, or in less friendly ways. */
async function work({ name, place, timing, provider }: RunWorkerOrder) {
  const store = 'postgres' in place ? await openPostgres(place.postgres) : openSqlite(place.sqlite);
  const callModel: CallModel = async ({ path, body, signal }) => {
    try {
      return await fetch(`${provider}${path}`, { method: 'POST', body: String(body), signal });
    } catch {
      return Response.json({ error: { message: 'No connection.' } }, { status: 502 });
    }
  };
  const databaseUrl = 'postgres' in place ? place.postgres : null;
  const engine = createEngine({ store, databaseUrl, callModel, name, timing, isAlone: 'sqlite' in place });
  await engine.start();
  process.on('SIGTERM', async () => {
    await engine.stop(2_000);
    await store.close();
    for (const error of engine.errors) process.stderr.write(`${name}: ${error}\n`);
    process.exit(0);
  });
  process.stdout.write('ready\n');
}

if (import.meta.main) await work(JSON.parse(process.argv[2]!) as RunWorkerOrder);
