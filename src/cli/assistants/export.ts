import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type * as z from 'zod';
import type { ContentBlock } from '../../assistants/messages.ts';
import type { Findings, Place } from '../../desired/reading/findings.ts';
import { pathText } from '../../desired/reading/findings.ts';
import type { Path } from '../../desired/reading/source.ts';
import { assistantForm, fileForm, messageForm, threadForm } from './forms.ts';
import { type Line, linesOf, type ReadLine } from './lines.ts';

export const FILES = {
  assistants: 'assistants.jsonl',
  threads: 'threads.jsonl',
  messages: 'messages.jsonl',
  files: 'files.jsonl',
} as const;

/** Where a message stands in its file; its text stays there until it is written. */
export interface FoundMessage extends Line {
  readonly createdAt: number;
}

export type FoundAssistant = z.infer<typeof assistantForm> & { readonly line: number };
export type FoundThread = z.infer<typeof threadForm> & { readonly line: number; readonly messages: FoundMessage[] };
export type FoundFile = z.infer<typeof fileForm> & { readonly line: number; readonly path: string };

/** A file that is spoken of and is not in the export as a whole. */
export interface Reference extends Place {
  readonly fileId: string;
  /** `content`: its own line, without its bytes. What is cited may be missing without harm to the thread. */
  readonly by: 'use' | 'citation' | 'content';
}

/** An export that was read: everything but the messages themselves, which may be many. */
export interface Export {
  readonly folder: string;
  readonly assistants: ReadonlyMap<string, FoundAssistant>;
  readonly threads: ReadonlyMap<string, FoundThread>;
  readonly files: ReadonlyMap<string, FoundFile>;
  readonly messages: number;
  readonly references: readonly Reference[];
}

/** Reads a folder; whatever is wrong with it becomes a fault with its line. */
export async function readExport(folder: string, findings: Findings): Promise<Export> {
  if (!Object.values(FILES).some((name) => existsSync(join(folder, name))))
    findings.fault({ file: folder, line: 1 }, `none of ${Object.values(FILES).join(', ')} is in this folder`);
  const references: Reference[] = [];
  const files = await readFiles(folder, findings, references);
  const refer: Refer = (place, ids = [], by = 'use') => {
    for (const fileId of new Set(ids)) if (!files.has(fileId)) references.push({ ...place, fileId, by });
  };
  const assistants = await readAssistants(folder, findings, refer);
  const threads = await readThreads(folder, findings, refer);
  const messages = await readMessages(folder, findings, { threads, refer });
  return { folder, assistants, threads, files, messages, references };
}

type Refer = (place: Place, fileIds: readonly string[] | undefined, by?: Reference['by']) => void;

/** The vendor shows files of which it does not give out the content. */
async function readFiles(folder: string, findings: Findings, without: Reference[]): Promise<Map<string, FoundFile>> {
  const files = new Map<string, FoundFile>();
  await eachLine(folder, 'files', fileForm, findings, (file, line) => {
    const path = join(folder, 'files', file.id);
    const place = { file: FILES.files, line: line.number };
    if (!takeOnce(files, file.id, { ...file, line: line.number, path }, place, findings)) return;
    const content = existsSync(path) ? statSync(path) : null;
    if (!content?.isFile()) without.push({ ...place, fileId: file.id, by: 'content' });
    else if (file.bytes !== undefined && content.size !== file.bytes)
      findings.fault(place, `bytes: files/${file.id} has ${content.size} bytes, not ${file.bytes}`);
  });
  for (const { fileId } of without) files.delete(fileId);
  return files;
}

async function readAssistants(folder: string, findings: Findings, refer: Refer): Promise<Map<string, FoundAssistant>> {
  const assistants = new Map<string, FoundAssistant>();
  await eachLine(folder, 'assistants', assistantForm, findings, (assistant, { number }) => {
    const place = { file: FILES.assistants, line: number };
    takeOnce(assistants, assistant.id, { ...assistant, line: number }, place, findings);
    refer(place, assistant.tool_resources?.code_interpreter?.file_ids);
    sayStores(place, assistant.tool_resources?.file_search?.vector_store_ids, findings);
  });
  return assistants;
}

async function readThreads(folder: string, findings: Findings, refer: Refer): Promise<Map<string, FoundThread>> {
  const threads = new Map<string, FoundThread>();
  await eachLine(folder, 'threads', threadForm, findings, (thread, { number }) => {
    const place = { file: FILES.threads, line: number };
    takeOnce(threads, thread.id, { ...thread, line: number, messages: [] }, place, findings);
    refer(place, thread.tool_resources?.code_interpreter?.file_ids);
    sayStores(place, thread.tool_resources?.file_search?.vector_store_ids, findings);
  });
  return threads;
}

/** Puts each message to its thread, by the place where it stands. Answers how many there are. */
async function readMessages(
  folder: string,
  findings: Findings,
  { threads, refer }: { threads: ReadonlyMap<string, FoundThread>; refer: Refer },
): Promise<number> {
  const seen = new Set<string>();
  await eachLine(folder, 'messages', messageForm, findings, (message, { number, start, length }) => {
    const place = { file: FILES.messages, line: number };
    const thread = threads.get(message.thread_id);
    if (!thread) return findings.fault(place, `thread_id: ${message.thread_id} is in no line of ${FILES.threads}`);
    const name = `${message.thread_id} ${message.id}`;
    if (seen.has(name)) return findings.fault(place, `id: ${message.id} is there twice`);
    seen.add(name);
    thread.messages.push({ number, start, length, createdAt: message.created_at });
    refer(
      place,
      message.content.flatMap((block) => (block.type === 'image_file' ? block.image_file.file_id : [])),
    );
    refer(
      place,
      message.attachments?.map(({ file_id }) => file_id),
    );
    refer(place, message.content.flatMap(citedIn), 'citation');
  });
  for (const thread of threads.values()) inOrder(thread.messages);
  return seen.size;
}

/** The files that a text cites, or says that it has made. */
function citedIn(block: ContentBlock): string[] {
  if (block.type !== 'text') return [];
  return block.text.annotations.flatMap(({ file_citation, file_path }) =>
    [file_citation, file_path].flatMap((told) => {
      const fileId = (told as { file_id?: unknown } | null | undefined)?.file_id;
      return typeof fileId === 'string' ? fileId : [];
    }),
  );
}

async function eachLine<Form extends z.ZodType>(
  folder: string,
  name: keyof typeof FILES,
  form: Form,
  findings: Findings,
  take: (value: z.infer<Form>, line: ReadLine) => void,
): Promise<void> {
  const file = FILES[name];
  for await (const line of linesOf(join(folder, file))) {
    const place = { file, line: line.number };
    if (!line.value) {
      findings.fault(place, 'is not a JSON object on one line');
      continue;
    }
    const result = form.safeParse(line.value);
    if (result.success) take(result.data, line);
    else for (const issue of result.error.issues) findings.fault(place, faultOf(issue));
  }
}

function faultOf(issue: z.core.$ZodIssue): string {
  const path = issue.path as Path;
  if (issue.code !== 'unrecognized_keys') return `${pathText(path) || 'the line'}: ${issue.message}`;
  return issue.keys.map((key) => `${pathText([...path, key])}: is not known here`).join('; ');
}

function takeOnce<Value>(
  into: Map<string, Value>,
  id: string,
  value: Value,
  place: Place,
  findings: Findings,
): boolean {
  if (into.has(id)) {
    findings.fault(place, `id: ${id} is there twice`);
    return false;
  }
  into.set(id, value);
  return true;
}

function sayStores(place: Place, ids: readonly string[] | undefined, findings: Findings) {
  for (const id of ids ?? [])
    findings.leaveOut(place, `tool_resources.file_search: vector store ${id}; make it here and set it again`);
}

/** Oldest first. Times are whole seconds, and an export may have been written from the newest to the oldest. */
function inOrder(messages: FoundMessage[]) {
  const first = messages[0]?.createdAt ?? 0;
  if (first > (messages.at(-1)?.createdAt ?? 0)) messages.reverse();
  messages.sort((one, other) => one.createdAt - other.createdAt);
}
