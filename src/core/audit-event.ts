/** Who did something that is recorded. */
export interface AuditedCaller {
  readonly organisationId: string;
  readonly workspaceId: string;
  readonly type: 'user' | 'api_key';
  /** Of the user or of the key. */
  readonly id: string;
}

/** Stands where the caller is not known; the field is a UUID always. */
export const NOBODY = '00000000-0000-0000-0000-000000000000';

/** Something to be recorded that no request of an admin resource did. */
export interface AuditEvent {
  /** A UUID; the same event told by several nodes has the same and is recorded once. */
  readonly id: string;
  readonly at: number;
  readonly caller: AuditedCaller;
  readonly resource: string;
  readonly action: string;
  readonly uri: string;
  readonly status: number;
  readonly body: unknown;
}

/** Records an event. Never throws; the record is stored soon. */
export type NoteEvent = (event: AuditEvent) => void;
