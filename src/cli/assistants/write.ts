import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { assistantBody } from '../../assistants/assistants.ts';
import type { ContentBlock } from '../../assistants/messages.ts';
import type { WorkspaceId } from '../../core/ids.ts';
import { objectIdAt } from '../../core/object-ids.ts';
import type { Files } from '../../files/files.ts';
import type { MessageRow } from '../../storage/schema.ts';
import type { Db, Store } from '../../storage/store.ts';
import {
  type Export,
  FILES,
  type FoundAssistant,
  type FoundFile,
  type FoundMessage,
  type FoundThread,
} from './export.ts';
import { type MessageLine, messageForm } from './forms.ts';
import { readAgain } from './lines.ts';

export interface Writing {
  readonly store: Store;
  readonly files: Files;
  readonly workspaceId: WorkspaceId;
  /** Files that messages name and that neither the export nor the workspace has. */
  readonly missing: ReadonlySet<string>;
  readonly onDone: (what: keyof typeof FILES, count: number) => void;
}

/** How much was written; what was there before is not among it. */
export type Written = Record<keyof typeof FILES, number>;

/**
 * Writes an export that was found to be good. Each file, each assistant, and each thread with all of its messages is there
 * as a whole or not at all; what is there already stays as it is. So it can be interrupted anywhere and done again.
 */
export async function writeExport(read: Export, writing: Writing): Promise<Written> {
  const written: Written = { files: 0, assistants: 0, threads: 0, messages: 0 };
  const note = (what: keyof Written, count: number, isNew = true) => {
    if (isNew) written[what] += count;
    writing.onDone(what, count);
  };
  for (const file of read.files.values()) note('files', 1, await writeFile(file, writing));
  for (const assistant of read.assistants.values()) note('assistants', 1, await writeAssistant(assistant, writing));
  const source = read.messages > 0 ? await open(join(read.folder, FILES.messages), 'r') : null;
  try {
    for (const thread of read.threads.values()) {
      const { isNew, messages } = await writeThread(thread, source, writing);
      note('threads', 1, isNew);
      written.messages += messages;
      writing.onDone('messages', thread.messages.length);
    }
  } finally {
    await source?.close();
  }
  return written;
}

const ms = (seconds: number): number => seconds * 1_000;

/** The content first: a row never speaks of bytes that are not there. */
async function writeFile(file: FoundFile, { store, files, workspaceId }: Writing): Promise<boolean> {
  const isThere = async (db: Db) =>
    (await db.selectFrom('files').select('id').where('id', '=', file.id).executeTakeFirst()) !== undefined;
  if (await isThere(store.db)) return false;
  const content = await files.keep(Bun.file(file.path).stream());
  const { id, filename, purpose } = file;
  const createdAt = ms(file.created_at);
  await store.transaction((db) =>
    files.insert(db, { workspaceId, id, filename, purpose, createdAt, livesSeconds: null, segments: [content] }),
  );
  return true;
}

async function writeAssistant(found: FoundAssistant, { store, workspaceId, missing }: Writing): Promise<boolean> {
  const { id, created_at, object: _, line: __, ...input } = found;
  // The vendor showed 1 where the user had chosen nothing; unset, it is shown as 1, too.
  const temperature = input.temperature === 1 ? null : input.temperature;
  const top_p = input.top_p === 1 ? null : input.top_p;
  const body = assistantBody({ ...input, temperature, top_p }, resourcesOf(input.tool_resources, missing));
  const row = {
    id,
    workspace_id: workspaceId,
    body: JSON.stringify(body),
    created_at: ms(created_at),
    deleted_at: null,
  };
  const inserted = await store.db
    .insertInto('assistants')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst();
  return inserted !== undefined;
}

/** Vector stores stay behind, and so do files that are nowhere. */
function resourcesOf(given: FoundThread['tool_resources'], missing: ReadonlySet<string>) {
  const ids = given?.code_interpreter?.file_ids?.filter((id) => !missing.has(id));
  return ids ? { code_interpreter: { file_ids: ids } } : {};
}

const AT_ONCE = 200;

async function writeThread(thread: FoundThread, source: FileHandle | null, writing: Writing) {
  const { store, workspaceId, missing } = writing;
  return store.transaction(async (db) => {
    const row = {
      id: thread.id,
      workspace_id: workspaceId,
      tool_resources: JSON.stringify(resourcesOf(thread.tool_resources, missing)),
      metadata: JSON.stringify(thread.metadata),
      created_at: ms(thread.created_at),
      deleted_at: null,
    };
    const inserted = await db
      .insertInto('threads')
      .values(row)
      .onConflict((conflict) => conflict.doNothing())
      .returning('id')
      .executeTakeFirst();
    // What was deleted here stays deleted, with all that an export may still hold of it.
    if (!inserted && (await isDeleted(db, thread.id))) return { isNew: false, messages: 0 };
    const known = inserted ? new Set<string>() : await knownIn(db, thread.id);
    let messages = 0;
    for (let at = 0; at < thread.messages.length; at += AT_ONCE) {
      const places = thread.messages.slice(at, at + AT_ONCE);
      messages += await writeMessages(db, await linesAt(source!, places, at), known, missing);
    }
    return { isNew: inserted !== undefined, messages };
  });
}

async function isDeleted(db: Db, threadId: string): Promise<boolean> {
  const row = await db.selectFrom('threads').select('deleted_at').where('id', '=', threadId).executeTakeFirst();
  return row?.deleted_at !== null;
}

async function knownIn(db: Db, threadId: string): Promise<Set<string>> {
  const rows = await db.selectFrom('imported_messages').select('source_id').where('thread_id', '=', threadId).execute();
  return new Set(rows.map(({ source_id }) => source_id));
}

interface Numbered {
  readonly message: MessageLine;
  readonly number: number;
}

async function linesAt(source: FileHandle, places: readonly FoundMessage[], first: number): Promise<Numbered[]> {
  const lines: Numbered[] = [];
  for (const [index, place] of places.entries())
    lines.push({ message: messageForm.parse(await readAgain(source, place)), number: first + index });
  return lines;
}

async function writeMessages(db: Db, lines: readonly Numbered[], known: Set<string>, missing: ReadonlySet<string>) {
  const fresh = lines.filter(({ message }) => !known.has(message.id));
  if (fresh.length === 0) return 0;
  const rows = fresh.map(({ message, number }) => rowOf(message, number, missing));
  await db.insertInto('messages').values(rows).execute();
  const marks = fresh.map(({ message }, index) => ({
    thread_id: message.thread_id,
    source_id: message.id,
    message_id: rows[index]!.id,
  }));
  await db.insertInto('imported_messages').values(marks).execute();
  return fresh.length;
}

/** Lists go by id, so a message gets one that is made from its time; the number keeps apart what one second has seen. */
function rowOf(message: MessageLine, number: number, missing: ReadonlySet<string>): MessageRow {
  const at = ms(message.created_at);
  const isIncomplete = message.status === 'incomplete';
  const reason = message.incomplete_details?.reason ?? 'run_failed';
  return {
    id: objectIdAt('message', at, number),
    thread_id: message.thread_id,
    user_id: null,
    role: message.role,
    status: isIncomplete ? 'incomplete' : 'completed',
    content: JSON.stringify(message.content.map((block) => contentOf(block, missing))),
    attachments: JSON.stringify(
      (message.attachments ?? [])
        .filter(({ file_id }) => !missing.has(file_id))
        .map(({ file_id, tools }) => ({ file_id, tools: tools ?? [] })),
    ),
    assistant_id: message.assistant_id ?? null,
    run_id: message.run_id ?? null,
    metadata: JSON.stringify(message.metadata),
    incomplete_reason: isIncomplete ? reason : null,
    created_at: at,
    completed_at: isIncomplete ? null : ms(message.completed_at ?? message.created_at),
    incomplete_at: isIncomplete ? ms(message.incomplete_at ?? message.created_at) : null,
    deleted_at: null,
  };
}

/** A picture that is nowhere would fail every run of its thread. */
function contentOf(block: ContentBlock, missing: ReadonlySet<string>): ContentBlock {
  if (block.type !== 'image_file' || !missing.has(block.image_file.file_id)) return block;
  return { type: 'text', text: { value: `[image ${block.image_file.file_id} is not here]`, annotations: [] } };
}
