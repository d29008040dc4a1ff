import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface ExportFolder {
  readonly assistants?: readonly object[];
  readonly threads?: readonly object[];
  readonly messages?: readonly object[];
  readonly files?: readonly { readonly id: string; readonly content: string | Uint8Array }[];
}

/** An id as the vendor made them: in no order. */
export const vendorId = (prefix: string, name: string): string =>
  `${prefix}${Bun.hash.wyhash(name).toString(36)}${name.replace(/\W/g, '')}`.slice(0, 30);

export const exportedMessage = (thread_id: string, text: string, more: object = {}) => ({
  id: vendorId('msg_', `${thread_id}${text}`),
  object: 'thread.message',
  created_at: 1_700_000_000,
  thread_id,
  role: 'user',
  content: [{ type: 'text', text: { value: text, annotations: [] } }],
  assistant_id: null,
  run_id: null,
  attachments: [],
  metadata: {},
  ...more,
});

/** A folder as `gateway import assistants` takes it. */
export function writeExportFolder(folder: string, { assistants, threads, messages, files }: ExportFolder): string {
  mkdirSync(join(folder, 'files'), { recursive: true });
  const lines = (name: string, values: readonly object[] | undefined) =>
    values && writeFileSync(join(folder, name), values.map((value) => `${JSON.stringify(value)}\n`).join(''));
  lines('assistants.jsonl', assistants);
  lines('threads.jsonl', threads);
  lines('messages.jsonl', messages);
  lines(
    'files.jsonl',
    files?.map(({ content: _, ...file }) => ({
      object: 'file',
      created_at: 1_690_000_000,
      filename: 'a.txt',
      purpose: 'assistants',
      ...file,
    })),
  );
  for (const { id, content } of files ?? []) writeFileSync(join(folder, 'files', id), content);
  return folder;
}
