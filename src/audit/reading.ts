import { type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import { firstCharacters } from '../core/characters.ts';
import type { Reader } from '../storage/reader.ts';
import type { AuditRecordRow, Schema } from '../storage/schema.ts';
import type { Db } from '../storage/store.ts';
import { dayOf, startOf } from './days.ts';
import { type AuditRecord, shownRecord } from './record.ts';

/** Which records are asked for. What is left out does not matter. */
export interface AuditFilter {
  readonly organisationId: string;
  /** Milliseconds, both included. */
  readonly from: number;
  readonly to: number;
  readonly method?: AuditRecordRow['method'];
  readonly uri?: string;
  readonly requestId?: string;
  readonly userId?: string;
  readonly userType?: AuditRecordRow['user_type'];
  readonly workspaceId?: string;
  readonly status?: number;
  readonly resourceType?: string;
  readonly action?: string;
  readonly clientIp?: string;
  readonly country?: string;
}

/** How much of a path is in the index; see the migration. */
const INDEXED_URI = 200;
const AT_ONCE = 500;

type Where<Table extends 'audit_records' | 'audit_days'> = ExpressionBuilder<Schema, Table>;

/** The conditions that records and the counts of days share. */
function kindOf<Table extends 'audit_records' | 'audit_days'>(where: Where<Table>, filter: AuditFilter) {
  const values = {
    organisation_id: filter.organisationId,
    method: filter.method,
    user_type: filter.userType,
    workspace_id: filter.workspaceId,
    response_status_code: filter.status,
    resource_type: filter.resourceType,
    action: filter.action,
    country: filter.country,
  };
  return Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([column, value]) => where.eb(column as never, '=', value as never));
}

/** Whether only days can tell how many there are: what else is asked for, they do not know. */
const isCountedByDay = ({ uri, requestId, userId, clientIp }: AuditFilter): boolean =>
  [uri, requestId, userId, clientIp].every((value) => value === undefined);

function conditions(where: Where<'audit_records'>, filter: AuditFilter) {
  const equal = (column: 'id' | 'user_id' | 'client_ip' | 'uri', value: string | undefined) =>
    value === undefined ? [] : [where(column, '=', value)];
  return where.and([
    ...kindOf(where, filter),
    where('at', '>=', filter.from),
    where('at', '<=', filter.to),
    ...equal('id', filter.requestId),
    ...equal('user_id', filter.userId),
    ...equal('client_ip', filter.clientIp),
    ...equal('uri', filter.uri),
    ...(filter.uri === undefined
      ? []
      : [sql<SqlBool>`substr(uri, 1, ${sql.lit(INDEXED_URI)}) = ${firstCharacters(filter.uri, INDEXED_URI)}`]),
  ]);
}

/** The records of an audit log, for people. */
export function createAuditReading({ db, reader }: { db: Db; reader: Reader }) {
  const matching = (filter: AuditFilter) => db.selectFrom('audit_records').where((where) => conditions(where, filter));
  const counted = (filter: AuditFilter) =>
    matching(filter).select((select) => select.fn.countAll<number>().as('total'));
  const total = (filter: AuditFilter) => {
    const days = { first: dayOf(filter.from) + 1, last: dayOf(filter.to) - 1 };
    return isCountedByDay(filter) && days.first <= days.last ? countedByDay(filter, days) : counted(filter);
  };
  /** Whole days from their counts, the two ends and what is not sealed yet one by one; all in the same moment. */
  const countedByDay = (filter: AuditFilter, { first, last }: { first: number; last: number }) => {
    const whole = db
      .selectFrom('audit_days')
      .select((select) => select.fn.coalesce(select.fn.sum<number>('records'), sql.lit(0)).as('sum'))
      .where((where) => where.and(kindOf(where, filter)))
      .where('day', '>=', first)
      .where('day', '<=', last);
    const before = counted({ ...filter, to: startOf(first) - 1 });
    const after = counted({ ...filter, from: startOf(last + 1) });
    // The plus keeps SQLite from going through all records of that time for the few that wait.
    const unsealed = db
      .selectFrom('audit_records')
      .select((select) => select.fn.countAll<number>().as('total'))
      .where((where) => where.and(kindOf(where, filter)))
      .where('batch', 'is', null)
      .where(sql<SqlBool>`+at >= ${startOf(first)} and +at < ${startOf(last + 1)}`);
    return db.selectNoFrom(sql<number>`(${whole}) + (${before}) + (${after}) + (${unsealed})`.as('total'));
  };
  /** Found in the index first: what is passed over is not read. */
  const page = (filter: AuditFilter, { offset, limit }: { offset: number; limit: number }) =>
    db
      .selectFrom('audit_records')
      .innerJoin(
        matching(filter)
          .select('id as found')
          .orderBy('at', 'desc')
          .orderBy('id', 'desc')
          .limit(limit)
          .offset(offset)
          .as('page'),
        'page.found',
        'audit_records.id',
      )
      .selectAll('audit_records')
      .orderBy('at', 'desc')
      .orderBy('id', 'desc');

  return {
    /** For the test that reads the plans of these queries. */
    queries: { total, page },

    /** Newest first. A page of no records is a question for the total. */
    async list(
      filter: AuditFilter,
      { page: number, size }: { page: number; size: number },
    ): Promise<{ records: AuditRecord[]; total: number }> {
      const [count] = await reader.all(total(filter));
      const all = Number(count?.total ?? 0);
      const offset = number * size;
      const rows = size === 0 || offset >= all ? [] : await reader.all(page(filter, { offset, limit: size }));
      return { records: rows.map(shownRecord), total: all };
    },

    /** All of them, oldest first, a bounded number at a time. */
    async *each(filter: AuditFilter): AsyncGenerator<AuditRecord[]> {
      let after: { at: number; id: string } | null = null;
      for (;;) {
        const rest = matching(filter).selectAll();
        const behind: typeof rest = after
          ? rest
              .where('at', '>=', after.at)
              .where(sql<SqlBool>`(at, id) > (${sql.val(after.at)}, ${sql.val(after.id)})`)
          : rest;
        const rows: AuditRecordRow[] = await reader.all(behind.orderBy('at').orderBy('id').limit(AT_ONCE));
        if (rows.length > 0) yield rows.map(shownRecord);
        const last = rows.at(-1);
        if (!last || rows.length < AT_ONCE) return;
        after = { at: Number(last.at), id: last.id };
      }
    },
  };
}

export type AuditReading = ReturnType<typeof createAuditReading>;
