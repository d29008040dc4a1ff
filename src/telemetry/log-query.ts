import type { AnyTerm } from './filter/language.ts';
import type { ShownMessage } from './packed-bodies.ts';
import type { FailedBy, LogRecord } from './record.ts';
import type { ShownAttempts } from './shown-attempts.ts';

/** Whose entries may be seen. */
export interface LogReach {
  readonly organisationId: string;
  /** null: every workspace of the organisation. */
  readonly workspaceId: string | null;
}

/** Which of the entries within reach. */
export interface LogFilter extends LogReach {
  readonly status?: number;
  readonly failedBy?: FailedBy;
  readonly provider?: string;
  readonly model?: string;
  readonly virtualKey?: string;
  readonly apiKeyId?: string;
  readonly userId?: string;
  readonly traceId?: string;
  readonly sessionId?: string;
  readonly pathPrefix?: string;
  readonly isStream?: boolean;
  readonly metadata?: Readonly<Record<string, string>>;
  /** All of them must hold, beside what is above. */
  readonly terms?: readonly AnyTerm[];
}

export interface LogQuery extends LogFilter {
  /** Milliseconds since the epoch, included. */
  readonly startTime?: number;
  /** Milliseconds since the epoch, excluded. */
  readonly endTime?: number;
  readonly limit: number;
  readonly after?: LogPosition;
}

/** A place in the order newest first; ids decide between entries of the same millisecond. */
export interface LogPosition {
  readonly createdAt: number;
  readonly id: string;
}

export interface LogPage {
  readonly object: 'list';
  readonly data: readonly LogRecord[];
  readonly has_more: boolean;
  readonly next_cursor?: string;
}

export interface LogDetail extends LogRecord, ShownAttempts {
  /** null when bodies were not kept. */
  readonly request: ShownMessage | null;
  readonly response: ShownMessage | null;
}

export const cursorOf = ({ createdAt, id }: LogPosition): string =>
  Buffer.from(`${createdAt}.${id}`).toString('base64url');

export function positionOf(cursor: string): LogPosition | null {
  const [, createdAt, id] = /^(\d{1,16})\.(.{1,256})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  return createdAt && id ? { createdAt: Number(createdAt), id } : null;
}
