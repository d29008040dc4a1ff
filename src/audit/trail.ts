import { type AuditEvent, type AuditedCaller, NOBODY, type NoteEvent } from '../core/audit-event.ts';
import type { Health } from '../core/health.ts';
import type { Witness } from '../core/principal.ts';
import type { Sealer } from '../crypto/seal.ts';
import type { SentHeaders } from '../http/headers.ts';
import type { Db, Store } from '../storage/store.ts';
import type { ChainGuard } from './guard.ts';
import { maskedBody, maskedHeaders, maskedQuery } from './mask.ts';
import { insertRecords, type NewRecord, recordedMethod } from './record.ts';
import { createStrangerSample, type StrangerSample } from './stranger-sample.ts';
import type { Subject } from './subject.ts';
import { AuditWriter } from './writer.ts';

/** A call that is to be recorded, as far as it is known when it arrives. */
export interface AuditedCall {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  readonly search: string;
  readonly headers: SentHeaders;
  readonly clientAddress: string;
  readonly country: string;
  readonly subject: Subject;
  /** Whose record it is while the caller is unknown. */
  readonly organisationId: string;
  readonly at: number;
}

/** The record of a call under way: the call's witness in its transactions. */
export interface Pending extends Witness {
  /** Says who is calling, as soon as that is known. */
  caller: AuditedCaller | null;
  /** Throws when the call would change something while the audit log is in doubt. */
  admit(): void;
  /** Takes what the body said. */
  readonly read: (body: unknown) => void;
  /** The call has its answer. Resolves when the record is stored, if it was not stored with a change already. */
  answered(status: number): Promise<void>;
}

export interface AuditTrail {
  open(call: AuditedCall): Pending;
  readonly note: NoteEvent;
  /** Records an event together with what it tells of: both are committed, or neither. */
  readonly noteWith: (db: Db, event: AuditEvent) => Promise<void>;
  /** Resolves when everything that came before is stored, or the store is away; tells what was left out so far. */
  flush(): Promise<void>;
}

export interface TrailOptions {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly health: Health;
  readonly guard: ChainGuard;
  readonly now: () => number;
  /** Called when a record was stored, or is about to be. */
  readonly onRecord: () => void;
  /** Called for each call of a stranger that gets no record of its own. */
  readonly onLeftOut: () => void;
}

export function createAuditTrail(options: TrailOptions): AuditTrail {
  const { store, sealer, health, guard, now, onRecord, onLeftOut } = options;
  const writer = new AuditWriter({ store, sealer, health, onStored: onRecord });
  const trail: AuditTrail = {
    open: (call) => new PendingRecord(call, { sealer, writer, guard, strangers, onRecord }),
    note: (event) => void writer.write(recordOf(event)),
    noteWith: (db, event) => {
      onRecord();
      return insertRecords(db, sealer, [recordOf(event)]);
    },
    flush: () => {
      strangers.flush();
      return writer.flush();
    },
  };
  const strangers = createStrangerSample({ note: trail.note, now, onLeftOut });
  return trail;
}

const recordOf = ({ id, at, caller, uri, status, body, resource, action }: AuditEvent): NewRecord => ({
  id,
  at,
  method: 'POST',
  uri,
  organisation_id: caller.organisationId,
  workspace_id: caller.workspaceId,
  user_type: caller.type,
  user_id: caller.id,
  response_status_code: status,
  resource_type: resource,
  action,
  client_ip: '',
  country: '',
  query_params: '{}',
  request_headers: '{}',
  request_body: maskedBody(body),
});

/** What an admin route answers to a change that worked. */
const CHANGED = 200;
/** Signing in changes nothing that administrators manage, and they may have to sign in to see what is wrong. */
const ALWAYS_ALLOWED = 'sessions';
const OF_STRANGERS = 512;

interface PendingDeps {
  readonly sealer: Sealer;
  readonly writer: AuditWriter;
  readonly guard: ChainGuard;
  readonly strangers: StrangerSample;
  readonly onRecord: () => void;
}

class PendingRecord implements Pending {
  readonly #call: AuditedCall;
  readonly #deps: PendingDeps;
  #isCommitted = false;
  #body: unknown;
  caller: AuditedCaller | null = null;
  readonly read = (body: unknown) => {
    this.#body = body;
  };

  constructor(call: AuditedCall, deps: PendingDeps) {
    this.#call = call;
    this.#deps = deps;
  }

  admit(): void {
    if (this.#call.subject.resource !== ALWAYS_ALLOWED) this.#deps.guard.refuseInDoubt();
  }

  async testify(transaction: unknown): Promise<void> {
    if (this.#isCommitted) return;
    const db = transaction as Db;
    const record = this.#record(this.#call.subject.changedStatus ?? CHANGED);
    if (record.resource_type !== ALWAYS_ALLOWED) await this.#deps.guard.refuseWithout(db, record.organisation_id);
    await insertRecords(db, this.#deps.sealer, [record]);
  }

  committed(): void {
    this.#isCommitted = true;
    this.#deps.onRecord();
  }

  async answered(status: number): Promise<void> {
    if (this.#isCommitted) return;
    const isStranger = this.caller === null && status >= 400;
    if (isStranger && !this.#deps.strangers.takes(this.#call, status)) return;
    await this.#deps.writer.write(this.#record(status, isStranger ? OF_STRANGERS : undefined));
  }

  /** `most`: how many characters are kept of each part that the caller may make as long as they like. */
  #record(status: number, most?: number): NewRecord {
    const { requestId, method, path, search, headers, clientAddress, country, subject, at } = this.#call;
    const who = this.caller;
    return {
      id: requestId,
      at,
      method: recordedMethod(method) ?? 'POST',
      uri: path.slice(0, most),
      organisation_id: who?.organisationId ?? this.#call.organisationId,
      workspace_id: who?.workspaceId ?? '',
      user_type: who?.type ?? 'api_key',
      user_id: who?.id ?? NOBODY,
      response_status_code: status,
      resource_type: subject.resource,
      action: subject.action,
      client_ip: clientAddress,
      country,
      query_params: maskedQuery(search, most),
      request_headers: maskedHeaders(headers, most),
      request_body: maskedBody(this.#body ?? {}, most),
    };
  }
}
