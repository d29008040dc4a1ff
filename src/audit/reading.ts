import { type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import type { Reader } from '../storage/reader.ts';
import type { AuditRecordRow, Schema } from '../storage/schema.ts';
import type { Db } from '../storage/store.ts';
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

type Where = ExpressionBuilder<Schema, 'audit_records'>;

function conditions(where: Where, filter: AuditFilter) {
  const equal = <Column extends keyof AuditRecordRow>(column: Column, value: AuditRecordRow[Column] | undefined) =>
    value === undefined ? [] : [where.eb(`audit_records.${column}` as never, '=', value as never)];
  return where.and([
    where('organisation_id', '=', filter.organisationId),
    where('at', '>=', filter.from),
    where('at', '<=', filter.to),
    ...equal('method', filter.method),
    ...equal('id', filter.requestId),
    ...equal('user_id', filter.userId),
    ...equal('user_type', filter.userType),
    ...equal('workspace_id', filter.workspaceId),
    ...equal('response_status_code', filter.status),
    ...equal('resource_type', filter.resourceType),
    ...equal('action', filter.action),
    ...equal('client_ip', filter.clientIp),
    ...equal('country', filter.country),
    ...equal('uri', filter.uri),
    ...(filter.uri === undefined
      ? []
      : [sql<SqlBool>`substr(uri, 1, ${sql.lit(INDEXED_URI)}) = ${[...filter.uri].slice(0, INDEXED_URI).join('')}`]),
  ]);
}

/** The records of an audit log, for people. */
export function createAuditReading({ db, reader }: { db: Db; reader: Reader }) {
  const matching = (filter: AuditFilter) => db.selectFrom('audit_records').where((where) => conditions(where, filter));
  const total = (filter: AuditFilter) => matching(filter).select((select) => select.fn.countAll<number>().as('total'));
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
    /** For whoever looks at how it is found. */
    queries: { total, page },

    /** Newest first. A page of no records is a question for the total. */
    async list(
      filter: AuditFilter,
      { page: number, size }: { page: number; size: number },
    ): Promise<{ records: AuditRecord[]; total: number }> {
      const [count] = await reader.all(total(filter));
      const rows = size === 0 ? [] : await reader.all(page(filter, { offset: number * size, limit: size }));
      return { records: rows.map(shownRecord), total: Number(count?.total ?? 0) };
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
