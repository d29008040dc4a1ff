import * as z from 'zod';
import { createAssistant } from '../../assistants/assistants.ts';
import { contentBlock } from '../../assistants/messages.ts';
import { attachmentTool, toolResources } from '../../assistants/tools.ts';
import { newMetadata } from '../../core/metadata-rule.ts';
import { filename, PURPOSES } from '../../files/file.ts';

/** What the lines of an export look like: the vendor's objects, as its API showed them. */

const id = (prefix: string) =>
  z.string().regex(new RegExp(`^${prefix}[A-Za-z0-9_-]{1,64}$`), `give an id that begins with '${prefix}'`);
/** Seconds; nothing was made before this API existed, and milliseconds are seconds of a far future. */
const moment = z.int().min(1_500_000_000, 'give seconds since 1970').max(9_999_999_999, 'give seconds since 1970');

export const assistantForm = createAssistant().extend({
  id: id('asst_'),
  object: z.literal('assistant').optional(),
  created_at: moment,
  tool_resources: toolResources().nullish(),
});

export const threadForm = z.strictObject({
  id: id('thread_'),
  object: z.literal('thread').optional(),
  created_at: moment,
  tool_resources: toolResources().nullish(),
  metadata: newMetadata,
});

export const messageForm = z.strictObject({
  id: id('msg_'),
  object: z.literal('thread.message').optional(),
  created_at: moment,
  thread_id: id('thread_'),
  status: z.enum(['completed', 'incomplete'], 'take it out: what is still being said cannot be moved').nullish(),
  incomplete_details: z
    .strictObject({ reason: z.enum(['content_filter', 'max_tokens', 'run_cancelled', 'run_expired', 'run_failed']) })
    .nullish(),
  completed_at: moment.nullish(),
  incomplete_at: moment.nullish(),
  role: z.enum(['user', 'assistant']),
  content: z.array(contentBlock()),
  assistant_id: z.string().max(128).nullish(),
  run_id: z.string().max(128).nullish(),
  attachments: z.array(z.strictObject({ file_id: id('file-'), tools: z.array(attachmentTool()).nullish() })).nullish(),
  metadata: newMetadata,
});
export type MessageLine = z.infer<typeof messageForm>;

export const fileForm = z.strictObject({
  id: id('file-'),
  object: z.literal('file').optional(),
  bytes: z.int().min(0).optional(),
  created_at: moment,
  filename: filename(),
  purpose: z.enum(PURPOSES),
  status: z.string().nullish(),
  status_details: z.unknown().optional(),
  expires_at: moment.nullish(),
});
