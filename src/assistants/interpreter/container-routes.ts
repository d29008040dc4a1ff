import * as z from 'zod';
import { fail, GatewayError } from '../../core/errors.ts';
import { listOf, listQuery } from '../../core/list.ts';
import { schemaOf } from '../../core/schema.ts';
import { CODE_INTERPRETER } from '../../dialects/responses/hosted-items.ts';
import { download } from '../../files/download.ts';
import { filename } from '../../files/file.ts';
import type { Files } from '../../files/files.ts';
import { receiveForm } from '../../files/form.ts';
import { headerOf } from '../../http/headers.ts';
import { checked, readJson } from '../../http/input.ts';
import { type CallAt, del, get, post, type Route } from '../../http/route.ts';
import { containerFileInput, containerFileObject, containerInput, containerObject } from './container.ts';
import type { Containers } from './containers.ts';
import { INPUT_BYTES } from './limits.ts';

export interface ContainerRouteParts {
  readonly containers: Containers;
  readonly files: Files;
  /** Null: code is not run here. */
  readonly memoryMb: number | null;
}

const wording = 'openai' as const;
const uses = { scopes: ['completions.write'] as const, wording };
const reads = { scopes: ['completions.write', 'files.read'] as const, wording };
const writes = { scopes: ['completions.write', 'files.write'] as const, wording };
const page = () => listQuery().omit({ before: true });
const namedPage = () =>
  page().extend({ name: z.string().max(256).optional().describe('Only containers of this name.') });
const deleted = (object: string) => () =>
  z.object({ id: z.string(), object: z.literal(object), deleted: z.literal(true) });
const fileForm = () => z.strictObject({ file: z.custom<unknown>().meta({ type: 'string', format: 'binary' }) });
const formFields = () => z.strictObject({ file: filename() });

/** Containers in which code of responses runs, with the files in them. They are the gateway's, for models of every provider. */
export const containerRoutes = ({ containers, files, memoryMb }: ContainerRouteParts): Route[] => [
  post(
    '/v1/containers',
    { ...writes, summary: 'Make a container for code', body: containerInput, response: containerObject },
    ({ principal, body }) =>
      memoryMb === null
        ? fail('hosted_tool_off', 'name', CODE_INTERPRETER)
        : containers.create(principal, body, memoryMb),
  ),
  get(
    '/v1/containers',
    { ...uses, summary: 'Containers of the workspace', query: namedPage, response: () => listOf(containerObject) },
    ({ principal, query }) => containers.list(principal, query),
  ),
  get(
    '/v1/containers/:container_id',
    { ...uses, summary: 'One container', response: containerObject },
    ({ principal, params }) => containers.read(principal, params.container_id),
  ),
  del(
    '/v1/containers/:container_id',
    { ...writes, summary: 'Delete a container', response: deleted('container.deleted') },
    ({ principal, params }) => containers.delete(principal, params.container_id),
  ),
  post(
    '/v1/containers/:container_id/files',
    { ...writes, summary: 'Put a file into a container', form: fileForm, response: containerFileObject },
    (call) => (isForm(call) ? received(call, { containers, files }) : referred(call, containers)),
  ),
  get(
    '/v1/containers/:container_id/files',
    { ...reads, summary: 'The files of a container', query: page, response: () => listOf(containerFileObject) },
    ({ principal, params, query }) => containers.listFiles(principal, params.container_id, query),
  ),
  get(
    '/v1/containers/:container_id/files/:file_id',
    { ...reads, summary: 'One file of a container', response: containerFileObject },
    ({ principal, params }) => containers.file(principal, params.container_id, params.file_id),
  ),
  get(
    '/v1/containers/:container_id/files/:file_id/content',
    { ...reads, summary: 'The bytes of a file of a container, or a range of them' },
    async (call) => {
      const { container_id, file_id } = call.params;
      const { id } = await containers.file(call.principal, container_id, file_id);
      return download(call, await files.row(call.principal.workspaceId, id), files);
    },
  ),
  del(
    '/v1/containers/:container_id/files/:file_id',
    { ...writes, summary: 'Delete a file from a container', response: deleted('container.file.deleted') },
    ({ principal, params }) => containers.deleteFile(principal, params.container_id, params.file_id),
  ),
];

const isForm = ({ headers }: CallAt<'container_id'>): boolean =>
  (headerOf(headers, 'content-type') ?? '').startsWith('multipart/form-data');

/** A file of the workspace, by its id. */
async function referred(call: CallAt<'container_id'>, containers: Containers) {
  await containers.read(call.principal, call.params.container_id);
  const { file_id } = await readJson(call.request, schemaOf(containerFileInput), wording);
  return containers.addFile(call.principal, call.params.container_id, file_id);
}

async function received(
  call: CallAt<'container_id'>,
  { containers, files }: Pick<ContainerRouteParts, 'containers' | 'files'>,
) {
  const { principal, params } = call;
  await containers.requireRoom(principal, params.container_id);
  const { fields, file } = await receiveForm(call.request, {
    ...{ field: 'file', mostBytes: INPUT_BYTES, what: 'a file of a container' },
    ...{ keep: files.keep, discard: files.discard },
  });
  try {
    const given = checked(schemaOf(formFields), { ...fields, file: file?.filename ?? undefined }, 'body', wording);
    return await containers.upload(principal, params.container_id, given.file, file!.content);
  } catch (error) {
    // Whether an insert that failed otherwise took place is not known; what is left is swept.
    if (file && error instanceof GatewayError && error.status < 500) await files.discard(file.content);
    throw error;
  }
}
