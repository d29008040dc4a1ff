/**
 * This program as a later version would be, with more migrations: one, or as many as STEPS_AHEAD says. What else it is
 * started with is as for `src/main.ts`.
 */
import { sql } from 'kysely';
import type { Migration } from '../src/storage/migrate.ts';
import { migrations } from '../src/storage/migrations.ts';

for (let step = 1; step <= Number(process.env.STEPS_AHEAD ?? 1); step++) {
  (migrations as Migration[]).push({
    name: `900${step}-later`,
    up: async (db) => {
      await db.schema
        .alterTable('api_keys')
        .addColumn(`later_${step}`, 'text', (column) => column.defaultTo('x'))
        .execute();
      await sql`create table ${sql.table(`later_${step}`)} (id text primary key)`.execute(db);
    },
  });
}
await import('../src/main.ts');
