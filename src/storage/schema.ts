import type { AlertTables } from './schema/alerts.ts';
import type { AssistantTables } from './schema/assistants.ts';
import type { AuditTables } from './schema/audit.ts';
import type { BatchTables } from './schema/batches.ts';
import type { CallerTables } from './schema/callers.ts';
import type { FeedbackTables } from './schema/feedback.ts';
import type { FileTables } from './schema/files.ts';
import type { FineTuningTables } from './schema/fine-tuning.ts';
import type { IngestTables } from './schema/ingest.ts';
import type { InstallationTables } from './schema/installation.ts';
import type { LimitTables } from './schema/limits.ts';
import type { LoginTables } from './schema/logins.ts';
import type { McpTables } from './schema/mcp.ts';
import type { ResponseTables } from './schema/responses.ts';
import type { ScimTables } from './schema/scim.ts';
import type { SetupTables } from './schema/setup.ts';
import type { VectorStoreTables } from './schema/vector-stores.ts';
import type { ViewTables } from './schema/views.ts';

export type * from './schema/alerts.ts';
export type * from './schema/assistants.ts';
export type * from './schema/audit.ts';
export type * from './schema/batches.ts';
export type * from './schema/callers.ts';
export type * from './schema/feedback.ts';
export type * from './schema/files.ts';
export type * from './schema/fine-tuning.ts';
export type * from './schema/ingest.ts';
export type * from './schema/installation.ts';
export type * from './schema/limits.ts';
export type * from './schema/logins.ts';
export type * from './schema/mcp.ts';
export type * from './schema/responses.ts';
export type * from './schema/scim.ts';
export type * from './schema/setup.ts';
export type * from './schema/vector-stores.ts';
export type * from './schema/views.ts';

/** The tables of the state database. JSON columns hold text on both engines; times are milliseconds since the epoch. */
export interface Schema
  extends CallerTables,
    LoginTables,
    ScimTables,
    SetupTables,
    LimitTables,
    ResponseTables,
    McpTables,
    AssistantTables,
    VectorStoreTables,
    FileTables,
    BatchTables,
    FineTuningTables,
    AuditTables,
    FeedbackTables,
    AlertTables,
    ViewTables,
    IngestTables,
    InstallationTables {}
