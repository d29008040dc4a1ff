import { error, named, openai } from './entry.ts';

/** Files, batches, assistants and the other objects of OpenAI's API that the gateway keeps. */
export const objectErrors = {
  file_not_found: openai(
    404,
    (id: string) => `No such File object: ${id}`,
    () => 'id',
    { code: null },
  ),
  file_format_unsupported: openai(
    400,
    (api: string) => `Invalid file format for ${api}. Must be .jsonl`,
    () => null,
    { code: null },
  ),
  file_too_large: openai(
    413,
    (param: string, limit: number, what: string) =>
      `${param}: ${what} may have at most ${limit} bytes (${limit / 2 ** 20} MiB).`,
    named,
  ),
  batch_not_found: openai(
    404,
    (id: string) => `No batch found with id '${id}'.`,
    () => 'batch_id',
  ),
  batch_not_cancellable: openai(
    400,
    (status: string) => `Cannot cancel a batch with status '${status}'.`,
    () => 'batch_id',
  ),
  native_batches_unsupported: openai(
    400,
    (provider: string, endpoint: string, known: readonly string[]) =>
      `The virtual key wants batches to be carried out by its provider, and ${provider} has no batch API for ${endpoint} that the gateway knows; those with one are ${known.join(', ')}. Set its configurations.batches to auto or managed.`,
    () => 'endpoint',
  ),
  batch_output_missing: openai(
    400,
    (id: string, status: string, errorFile: string | null) =>
      `Batch ${id} has the status '${status}' and no output file.${errorFile ? ` What became of its requests is in ${errorFile}.` : ''}`,
    () => 'batch_id',
  ),
  hosted_tool_off: openai(
    400,
    (at: string, tool: string) =>
      `${at}: the tool ${tool} is run neither by this provider nor here. The gateway runs file_search on vector stores of its own, mcp on servers that are registered with it, code_interpreter where that is switched on, and image_generation and web_search where the operator has named models for them.`,
    named,
  ),
  invalid_beta: openai(
    400,
    (header: string, got: string) =>
      `Header ${header} is '${got}'. This API takes 'assistants=v2', or no such header at all.`,
    named,
  ),
  unsupported_value: openai(400, (_param: string, message: string) => message, named),
  thread_locked: openai(
    400,
    (thread: string, run: string) => `Can't add messages to ${thread} while a run ${run} is active.`,
    () => null,
    { code: null },
  ),
  thread_has_active_run: openai(
    400,
    (thread: string, run: string) => `Thread ${thread} already has an active run ${run}.`,
    () => null,
    { code: null },
  ),
  run_not_cancellable: openai(
    400,
    (status: string) => `Cannot cancel run with status '${status}'.`,
    () => null,
    { code: null },
  ),
  run_takes_no_outputs: openai(
    400,
    (status: string) => `Runs in status "${status}" do not accept tool outputs.`,
    () => null,
    { code: null },
  ),
  tool_outputs_mismatch: openai(
    400,
    (expected: string, got: string) => `Expected tool outputs for call_ids ${expected}, got ${got}`,
    () => null,
    { code: null },
  ),
  object_not_found: openai(
    404,
    (kind: string, id: string) => `No ${kind} found with id '${id}'.`,
    () => null,
    { code: null },
  ),
  vector_store_expired: openai(
    400,
    (id: string) => `Vector store '${id}' has expired`,
    () => null,
    { code: null },
  ),
  vector_store_file_not_found: openai(
    404,
    (fileId: string, storeId: string) => `No file found with id '${fileId}' in vector store '${storeId}'.`,
    () => null,
    { code: null },
  ),
  vector_store_file_unread: openai(
    400,
    (fileId: string, status: string) =>
      `File '${fileId}' is ${status}; its text can be read once it is completed in the vector store.`,
  ),
  file_batch_not_cancellable: openai(
    400,
    (id: string, status: string) =>
      `File batch '${id}' is ${status}; only a batch that is still in progress can be cancelled.`,
  ),
  vector_store_sync_busy: openai(
    409,
    (sync: { id: string; holder: string; source: string; since: string; until: string }) =>
      `${sync.holder} is syncing '${sync.source}' into this vector store since ${sync.since} (${sync.id}). Another sync can begin when that one has ended, or at ${sync.until} if nothing is heard of it.`,
  ),
  vector_store_sync_lost: openai(
    409,
    (id: string, why: string) => `Sync '${id}' is not under way any more: ${why}. Begin a new one.`,
  ),
  upload_not_found: openai(
    404,
    (id: string) => `No such Upload object: ${id}`,
    () => 'id',
    { code: null },
  ),
  upload_not_pending: openai(
    400,
    (id: string, status: string) => `Upload ${id} is ${status}; only a pending upload takes parts or can be ended.`,
  ),
  too_many_upload_parts: openai(
    400,
    (most: number) =>
      `The uploads of this workspace that are not completed may have at most ${most} parts together. Complete or cancel some first, or send larger parts.`,
    () => 'data',
  ),
  upload_parts_too_large: openai(
    413,
    (most: number) =>
      `The parts of this workspace's uploads that are not completed may have at most ${most} bytes (${most / 2 ** 30} GiB) together. Complete or cancel some first.`,
    () => 'data',
  ),
  upload_size_mismatch: openai(
    400,
    (declared: number, got: number) =>
      `The parts have ${got} bytes together, but the upload was created for ${declared} bytes.`,
    () => 'part_ids',
  ),
  upload_checksum_mismatch: openai(
    400,
    (declared: string, got: string) => `The MD5 of the parts in this order is ${got}, not ${declared}.`,
    () => 'md5',
  ),
  response_not_found: openai(
    404,
    (id: string) => `Response with id '${id}' not found.`,
    () => null,
    { code: null },
  ),
  previous_response_not_found: openai(
    400,
    (id: string) => `Previous response with id '${id}' not found.`,
    () => 'previous_response_id',
  ),
  response_item_not_found: openai(
    404,
    (_param: string, id: string) =>
      `Item with id '${id}' not found. Only items of responses that were stored can be referred to: send the item itself.`,
    named,
    { code: null },
  ),
  fine_tune_not_found: openai(
    404,
    (id: string) => `Could not find fine tune: ${id}`,
    () => 'fine_tune_id',
  ),
  fine_tuning_job_state: openai(
    400,
    (id: string, status: string, wanted: string) => `Fine-tuning job ${id} is ${status}; ${wanted}.`,
    () => 'fine_tuning_job_id',
  ),
  fine_tuning_unsupported: error(
    400,
    (provider: string, supported: string) =>
      `Provider ${provider} has no fine-tuning that the gateway knows. Use a virtual key of ${supported}.`,
    () => 'x-gateway-virtual-key',
  ),
  fine_tuning_refused: error(
    502,
    (provider: string, why: string) =>
      `Provider ${provider} did not do it: ${why}. Read the job again to see how it stands.`,
  ),
};
