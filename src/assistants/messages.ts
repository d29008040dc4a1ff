import * as z from 'zod';
import { fail } from '../core/errors.ts';
import type { WorkspaceId } from '../core/ids.ts';
import { type List, type ListQuery, listPage } from '../core/list.ts';
import { changedMetadata, metadataRule, newMetadata } from '../core/metadata-rule.ts';
import { newObjectId } from '../core/object-ids.ts';
import type { Checked } from '../core/schema.ts';
import { unixSeconds, unixSecondsOrNull } from '../core/unix-seconds.ts';
import { withinBounds } from '../storage/keyset.ts';
import type { MessageRow } from '../storage/schema.ts';
import type { Db, Store } from '../storage/store.ts';
import { forgetEvents } from './runs/events.ts';
import { findThread, goBehindMessages, lockThread } from './thread.ts';
import { attachmentTool } from './tools.ts';
import type { FileGiver } from './vector-stores/adding.ts';

const MOST_CHARACTERS = 256_000;
const text = () => z.string().max(MOST_CHARACTERS);
const detail = () => z.enum(['auto', 'low', 'high']);

/** Which of them models can reach is the provider's to say. */
const imageUrl = () =>
  z.string().regex(/^[a-z][a-z0-9+.-]*:\S/i, "give an address, such as 'https://…', or a data URL");

const contentPart = () =>
  z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('text'), text: text() }),
    z.strictObject({
      type: z.literal('image_url'),
      image_url: z.strictObject({ url: imageUrl(), detail: detail().optional() }),
    }),
    z.strictObject({
      type: z.literal('image_file'),
      image_file: z.strictObject({ file_id: z.string().min(1), detail: detail().optional() }),
    }),
  ]);
const attachment = () => z.strictObject({ file_id: z.string().min(1), tools: z.array(attachmentTool()).optional() });

/** As many as a thread may have. */
const MOST_AT_ONCE = 100_000;

export const createMessage = () =>
  z.strictObject({
    role: z.enum(['user', 'assistant']),
    content: z.union([text(), z.array(contentPart()).min(1)]),
    attachments: z.array(attachment()).nullish(),
    metadata: newMetadata,
  });
export type MessageInput = Checked<typeof createMessage>;
export const newMessages = () => z.array(createMessage()).max(MOST_AT_ONCE).nullish();
export const updateMessage = () => z.strictObject({ metadata: metadataRule.nullish() });

const annotation = () => z.record(z.string(), z.unknown());
export const contentBlock = () =>
  z.union([
    z.object({ type: z.literal('text'), text: z.object({ value: z.string(), annotations: z.array(annotation()) }) }),
    z.object({ type: z.literal('image_url'), image_url: z.object({ url: z.string(), detail: detail() }) }),
    z.object({ type: z.literal('image_file'), image_file: z.object({ file_id: z.string(), detail: detail() }) }),
    z.object({ type: z.literal('refusal'), refusal: z.string() }),
  ]);
export type ContentBlock = Checked<typeof contentBlock>;

export const messageObject = () =>
  z
    .object({
      id: z.string(),
      object: z.literal('thread.message'),
      created_at: z.number().int(),
      thread_id: z.string(),
      status: z.enum(['in_progress', 'incomplete', 'completed']),
      incomplete_details: z.object({ reason: z.string() }).nullable(),
      completed_at: z.number().int().nullable(),
      incomplete_at: z.number().int().nullable(),
      role: z.enum(['user', 'assistant']),
      content: z.array(contentBlock()),
      assistant_id: z.string().nullable(),
      run_id: z.string().nullable(),
      attachments: z.array(z.object({ file_id: z.string(), tools: z.array(attachmentTool()) })),
      metadata: z.record(z.string(), z.string()),
    })
    .meta({ id: 'Message' });
export type Message = Checked<typeof messageObject>;

export const shownMessage = (row: MessageRow): Message => ({
  id: row.id,
  object: 'thread.message',
  created_at: unixSeconds(row.created_at),
  thread_id: row.thread_id,
  status: row.status as Message['status'],
  incomplete_details: row.incomplete_reason === null ? null : { reason: row.incomplete_reason },
  completed_at: unixSecondsOrNull(row.completed_at),
  incomplete_at: unixSecondsOrNull(row.incomplete_at),
  role: row.role as Message['role'],
  content: JSON.parse(row.content),
  assistant_id: row.assistant_id,
  run_id: row.run_id,
  attachments: JSON.parse(row.attachments),
  metadata: JSON.parse(row.metadata),
});

/** Text stands alone in a request and in an object in an answer. */
function blocksOf(content: MessageInput['content']): ContentBlock[] {
  if (typeof content === 'string') return [{ type: 'text', text: { value: content, annotations: [] } }];
  return content.map((part): ContentBlock => {
    if (part.type === 'text') return { type: 'text', text: { value: part.text, annotations: [] } };
    if (part.type === 'image_url')
      return { type: 'image_url', image_url: { url: part.image_url.url, detail: part.image_url.detail ?? 'auto' } };
    return {
      type: 'image_file',
      image_file: { file_id: part.image_file.file_id, detail: part.image_file.detail ?? 'auto' },
    };
  });
}

const attachmentsOf = ({ attachments }: MessageInput): Message['attachments'] =>
  (attachments ?? []).map(({ file_id, tools }) => ({ file_id, tools: tools ?? [] }));

/** Each file that messages refer to, once. */
function filesIn(inputs: readonly MessageInput[]): Set<string> {
  const images = inputs.flatMap(({ content }) =>
    typeof content === 'string'
      ? []
      : content.flatMap((part) => (part.type === 'image_file' ? part.image_file.file_id : [])),
  );
  return new Set([
    ...images,
    ...inputs.flatMap(({ attachments }) => (attachments ?? []).map(({ file_id }) => file_id)),
  ]);
}

/** What is left of a message that was deleted: its place in the list. */
const NOTHING_SAID = { content: '[]', attachments: '[]', metadata: '{}' };

/** While a run is under way, those who watch it need what it has said. */
async function endedRun(db: Db, id: string): Promise<string[]> {
  const run = db.selectFrom('runs').select('id').where('id', '=', id).where('ended_at', 'is not', null);
  return (await run.execute()).map((row) => row.id);
}

/** SQLite takes some thousand values in a statement. */
const ROWS_AT_ONCE = 200;

export interface MessagesDeps {
  readonly store: Store;
  /** Throws while a run holds the thread. */
  readonly refuseActiveRun: (db: Db, threadId: string) => Promise<void>;
  /** Throws `file_not_found` for a file that the workspace does not have. */
  readonly checkFile: (db: Db, workspaceId: WorkspaceId, fileId: string) => Promise<void>;
  /** What attachments mean for the thread's tools; in the transaction of the message. */
  readonly attach?: (db: Db, giver: FileGiver, threadId: string, attachments: Message['attachments']) => Promise<void>;
  readonly now?: () => number;
}

/** Where a message is put, and by whom: null where it was no user. */
export interface MessagePlace extends FileGiver {
  readonly threadId: string;
  readonly userId: string | null;
}

export interface MessageListQuery extends ListQuery {
  readonly run_id?: string;
}

export function createMessages({ store, refuseActiveRun, checkFile, attach, now = Date.now }: MessagesDeps) {
  const of = (db: Db, threadId: string) => db.selectFrom('messages').selectAll().where('thread_id', '=', threadId);

  const find = async (db: Db, threadId: string, id: string): Promise<MessageRow> =>
    (await of(db, threadId).where('id', '=', id).where('deleted_at', 'is', null).executeTakeFirst()) ??
    fail('object_not_found', 'message', id);

  const newRow = ({ threadId, userId }: MessagePlace, input: MessageInput, id: string): MessageRow => ({
    id,
    thread_id: threadId,
    user_id: userId,
    role: input.role,
    status: 'completed',
    content: JSON.stringify(blocksOf(input.content)),
    attachments: JSON.stringify(attachmentsOf(input)),
    assistant_id: null,
    run_id: null,
    metadata: JSON.stringify(input.metadata),
    incomplete_reason: null,
    created_at: now(),
    completed_at: now(),
    incomplete_at: null,
    deleted_at: null,
  });

  /** In pieces, between which others get their turn: a request may bring many thousands. */
  const insert = async (db: Db, place: MessagePlace, inputs: readonly MessageInput[]) => {
    const { workspaceId, threadId } = place;
    for (const fileId of filesIn(inputs)) await checkFile(db, workspaceId, fileId);
    await goBehindMessages(db, threadId);
    const rows: MessageRow[] = [];
    for (let at = 0; at < inputs.length; at += ROWS_AT_ONCE) {
      if (at > 0) await Bun.sleep(0);
      const some = inputs.slice(at, at + ROWS_AT_ONCE);
      const values = some.map((input) => newRow(place, input, newObjectId('message', now())));
      await db.insertInto('messages').values(values).execute();
      rows.push(...values);
    }
    for (const attachments of inputs.map(attachmentsOf))
      if (attachments.length > 0) await attach?.(db, place, threadId, attachments);
    return rows;
  };

  return {
    /** Puts messages at the end of a thread, in whatever transaction they belong to. */
    insert,

    create(place: MessagePlace, input: MessageInput): Promise<Message> {
      const { workspaceId, threadId } = place;
      return store.transaction(async (db) => {
        await lockThread(store, db, workspaceId, threadId);
        await refuseActiveRun(db, threadId);
        const [row] = await insert(db, place, [input]);
        return shownMessage(row!);
      });
    },

    async read(workspaceId: WorkspaceId, threadId: string, id: string): Promise<Message> {
      await findThread(store.db, workspaceId, threadId);
      return shownMessage(await find(store.db, threadId, id));
    },

    async list(workspaceId: WorkspaceId, threadId: string, query: MessageListQuery): Promise<List<Message>> {
      await findThread(store.db, workspaceId, threadId);
      const { run_id } = query;
      const page = await listPage(query, 'message', {
        has: async (id) => (await of(store.db, threadId).where('id', '=', id).executeTakeFirst()) !== undefined,
        between: (bounds) => {
          const living = of(store.db, threadId).where('deleted_at', 'is', null);
          return withinBounds(run_id ? living.where('run_id', '=', run_id) : living, bounds).execute();
        },
      });
      return { ...page, data: page.data.map(shownMessage) };
    },

    update(
      workspaceId: WorkspaceId,
      threadId: string,
      id: string,
      input: Checked<typeof updateMessage>,
    ): Promise<Message> {
      return store.transaction(async (db) => {
        await findThread(db, workspaceId, threadId);
        const row = await find(db, threadId, id);
        const metadata = JSON.stringify(changedMetadata(JSON.parse(row.metadata), input.metadata));
        const changed = db
          .updateTable('messages')
          .set({ metadata })
          .where('id', '=', id)
          .where('deleted_at', 'is', null);
        await changed.execute();
        return shownMessage({ ...row, metadata });
      });
    },

    async delete(workspaceId: WorkspaceId, threadId: string, id: string) {
      await store.transaction(async (db) => {
        await findThread(db, workspaceId, threadId);
        const { run_id } = await find(db, threadId, id);
        const { numUpdatedRows } = await db
          .updateTable('messages')
          .set({ deleted_at: now(), ...NOTHING_SAID })
          .where('id', '=', id)
          .where('deleted_at', 'is', null)
          .executeTakeFirstOrThrow();
        // Another call deleted it meanwhile.
        if (Number(numUpdatedRows) === 0) fail('object_not_found', 'message', id);
        if (run_id !== null) await forgetEvents(store, db, await endedRun(db, run_id));
      });
      return { id, object: 'thread.message.deleted' as const, deleted: true as const };
    },
  };
}

export type Messages = ReturnType<typeof createMessages>;
