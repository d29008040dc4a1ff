import { fail } from '../core/errors.ts';
import { findMembers, isWholeObject } from '../core/json-bytes.ts';
import type { Route } from '../routing/select.ts';
import { KEPT_BELOW, PEEK_BELOW, readOn } from './body.ts';
import type { OpenCall, Opening } from './call.ts';
import { FormWatch, furtherModels, plainBoundary } from './form-watch.ts';
import { asksForModel, type LimitDeps } from './limits.ts';
import type { ModelNames } from './model-names.ts';
import { modelMember } from './receive.ts';
import type { Target } from './target.ts';

interface KnownModelDeps extends LimitDeps {
  readonly names: ModelNames;
}

/**
 * The call with its model known, where a limit or a budget that it falls under depends on the model. What cannot be
 * known is refused: no rule would hold for a model that the gateway did not see.
 */
export async function withKnownModel(call: OpenCall, target: Target, deps: KnownModelDeps): Promise<OpenCall> {
  if (!(await asksForModel(call, target, deps))) return call;
  const { headers, isJson, body } = call;
  const encoding = headers['content-encoding']?.trim();
  if (encoding && !/^identity$/i.test(encoding)) fail('model_hidden', 'the body is compressed; send it as it is');
  if (isJson) return inJson(call, body!);
  const type = headers['content-type']?.trim() ?? '';
  if (!/^multipart\//i.test(type)) return elsewhere(call, body!, type);
  const known = await inForm(call, body!, type);
  await refuseLateSlug(known, target, deps.names);
  return known;
}

function inJson(call: OpenCall, { head, rest }: Opening): OpenCall {
  const { log } = call;
  // What stands behind the head is watched while it passes.
  if (log.model !== null) return call;
  log.model = modelMember(head);
  if (log.model !== null || (findMembers(head, 'model', 1).length > 0 && isWholeObject(head))) return call;
  if (rest) fail('model_hidden', `it does not stand within the first ${PEEK_BELOW >> 20} MiB of the body`);
  if (!isWholeObject(head)) fail('model_hidden', 'the body is no JSON object in UTF-8 that can be read to its end');
  return call;
}

/** Reads on to the model, or to the end of a form that has none. What follows is watched: it must not name another. */
async function inForm(call: OpenCall, body: Opening, type: string): Promise<OpenCall> {
  const watch = new FormWatch(plainBoundary(type) ?? fail('model_hidden', 'the content type of the form is not plain'));
  const isFound = (piece: Uint8Array) => {
    watch.push(piece);
    return watch.fault !== null || watch.models.length > 0;
  };
  const read = await readOn(body, KEPT_BELOW, isFound);
  const { models, fault } = watch;
  if (fault !== null) fail('model_hidden', `the form cannot be read: ${fault}`);
  if (models.length > 1)
    fail('invalid_request', 'model', 'is given twice; which one counts would be up to the provider');
  const [model] = models;
  if (model === undefined && read.rest)
    fail('model_hidden', `it stands behind the first ${KEPT_BELOW >> 20} MiB of the form; put it before the file`);
  if (model === undefined && !watch.isClosed) fail('model_hidden', 'the form ends before its closing boundary');
  call.log.model = model ?? null;
  return { ...call, body: { ...read, watch: read.rest ? furtherModels(watch, { faults: true }) : undefined } };
}

/** A slug chooses who is asked, and that has been done. */
async function refuseLateSlug({ readsModel, principal, log }: OpenCall, target: Target, names: ModelNames) {
  const { virtualKey: slug, provider } = target;
  if (!readsModel || !log.model?.startsWith('@')) return;
  const asked: Route = slug ? { by: 'virtual-key', slug } : { by: 'provider', name: provider.name, customHost: null };
  if (await names.slugged(principal, log.model, asked))
    fail('invalid_request', 'model', 'stands too far behind to name a virtual key; put it before the file');
}

/** No model stands in pictures and sounds. What looks like JSON some providers read, whatever its type says. */
async function elsewhere(call: OpenCall, body: Opening, type: string): Promise<OpenCall> {
  if (/^application\/x-www-form-urlencoded/i.test(type))
    fail('model_hidden', 'the body has the type application/x-www-form-urlencoded; send JSON or multipart/form-data');
  const read = body.head.byteLength > 0 ? body : await readOn(body, 1, () => true);
  if (beginsLikeJson(read.head)) fail('model_hidden', 'the body looks like JSON; say so with content-type');
  return { ...call, body: read };
}

/** Zeros and byte order marks stand before a brace, or around it, in UTF-16 and UTF-32. */
const PASSED_OVER = new Set([0x00, 0x09, 0x0a, 0x0d, 0x20, 0xef, 0xbb, 0xbf, 0xfe, 0xff]);
const beginsLikeJson = (bytes: Uint8Array): boolean => bytes.find((byte) => !PASSED_OVER.has(byte)) === 0x7b;
