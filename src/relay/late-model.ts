import { fail } from '../core/errors.ts';
import { KEPT_BELOW, readOn } from './body.ts';
import type { OpenCall } from './call.ts';
import { FormWatch, furtherModels } from './form-watch.ts';
import { boundaryOf } from './multipart-model.ts';

/** A form whose model stands behind a large file, read as far as the model; others as they are. */
export async function withLateModel(call: OpenCall): Promise<OpenCall> {
  const { body, headers } = call;
  const boundary = boundaryOf(headers['content-type']);
  if (!body || boundary === null) return call;
  const watch = new FormWatch(boundary);
  const read = await readOn(body, KEPT_BELOW, (piece) => {
    watch.push(piece);
    return watch.fault !== null || watch.models.length > 0;
  });
  const [named, ...more] = watch.models;
  if (more.length > 0) fail('invalid_request', 'model', 'is given twice; which one counts would be up to the provider');
  const further = read.rest && named !== undefined ? furtherModels(watch, { faults: false }) : undefined;
  call.log.model = named ?? null;
  return { ...call, named: named ?? null, asked: named ?? null, body: { ...read, watch: further } };
}
