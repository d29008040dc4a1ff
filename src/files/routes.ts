import * as z from 'zod';
import { listOf, listQuery } from '../core/list.ts';
import { del, get, post, type Route } from '../http/route.ts';
import { download } from './download.ts';
import { fileObject, PURPOSES } from './file.ts';
import type { Files } from './files.ts';
import { fileForm, partForm, receiveFile, receivePart } from './receive.ts';
import { completion, partObject, uploadInput, uploadObject } from './upload.ts';
import type { Uploads } from './uploads.ts';

const MOST_LISTED = 10_000;
const fileQuery = () =>
  listQuery({ most: MOST_LISTED, usual: MOST_LISTED })
    .omit({ before: true })
    .extend({ purpose: z.enum(PURPOSES).optional().describe('Only files for this.') });
const deleted = () => z.object({ id: z.string(), object: z.literal('file'), deleted: z.literal(true) });

const wording = 'openai' as const;
const reads = { scopes: ['files.read'] as const, wording };
const writes = { scopes: ['files.write'] as const, wording };

/** Files and uploads belong to the workspace of the calling key. */
export const fileRoutes = ({ files, uploads }: { files: Files; uploads: Uploads }): Route[] => [
  post('/v1/files', { ...writes, summary: 'Upload a file', form: fileForm, response: fileObject }, (call) =>
    receiveFile(call.request, call.principal, files),
  ),
  get(
    '/v1/files',
    { ...reads, summary: 'Files of the workspace', query: fileQuery, response: () => listOf(fileObject) },
    (call) => files.list(call.principal.workspaceId, call.query),
  ),
  get('/v1/files/:file_id', { ...reads, summary: 'One file', response: fileObject }, (call) =>
    files.read(call.principal.workspaceId, call.params.file_id),
  ),
  del('/v1/files/:file_id', { ...writes, summary: 'Delete a file', response: deleted }, (call) =>
    files.delete(call.principal.workspaceId, call.params.file_id),
  ),
  get('/v1/files/:file_id/content', { ...reads, summary: 'The bytes of a file, or a range of them' }, async (call) =>
    download(call, await files.row(call.principal.workspaceId, call.params.file_id), files),
  ),
  post(
    '/v1/uploads',
    { ...writes, summary: 'Begin a file that comes in parts', body: uploadInput, response: uploadObject },
    (call) => uploads.create(call.principal, call.body),
  ),
  post(
    '/v1/uploads/:upload_id/parts',
    { ...writes, summary: 'Add a part', form: partForm, response: partObject },
    (call) => receivePart(call.request, call.principal.workspaceId, call.params.upload_id, { files, uploads }),
  ),
  post(
    '/v1/uploads/:upload_id/complete',
    { ...writes, summary: 'Make a file of the parts', body: completion, response: uploadObject },
    (call) => uploads.complete(call.principal.workspaceId, call.params.upload_id, call.body),
  ),
  post('/v1/uploads/:upload_id/cancel', { ...writes, summary: 'Give up an upload', response: uploadObject }, (call) =>
    uploads.cancel(call.principal.workspaceId, call.params.upload_id),
  ),
];
