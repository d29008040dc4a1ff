import { type RawBuilder, sql } from 'kysely';
import type { Engine } from '../../storage/migrate.ts';
import { SAYING } from '../search/stores.ts';
import type { SaidTerm } from './language.ts';

/** What a term asks of the words of an entry. One that is not searched says nothing. */
export function saysOf({ phrases, isNot }: SaidTerm, engine: Engine): RawBuilder<boolean> {
  const { from, until, phrase } = SAYING[engine];
  const some = phrases.map(
    (each) => sql<boolean>`request_logs.id in (${sql.raw(from)}${phrase(each)}${sql.raw(until)})`,
  );
  const holds = sql<boolean>`(${sql.join(some, sql` or `)})`;
  return isNot ? sql<boolean>`not ${holds}` : holds;
}
