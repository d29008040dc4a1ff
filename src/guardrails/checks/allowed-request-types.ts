import * as z from 'zod';
import type { EndpointType } from '../../core/endpoints.ts';
import { check } from '../check.ts';

/** What this gateway calls its endpoints, and the names of others' guardrails, which can so be taken over as they are. */
const TYPES = [
  ...([
    'chatComplete',
    'complete',
    'embed',
    'rerank',
    'moderate',
    'imageGenerate',
    'imageEdit',
    'imageVariation',
    'createSpeech',
    'createTranscription',
    'createTranslation',
    'messages',
    'countTokens',
    'createModelResponse',
    'generateContent',
    'ollamaChat',
    'ollamaGenerate',
    'mcp',
    'proxy',
  ] satisfies EndpointType[]),
  'realtime',
  'uploadFile',
  'listFiles',
  'retrieveFile',
  'deleteFile',
  'retrieveFileContent',
  'createBatch',
  'retrieveBatch',
  'cancelBatch',
  'listBatches',
  'getBatchOutput',
  'listFinetunes',
  'createFinetune',
  'retrieveFinetune',
  'cancelFinetune',
  'getModelResponse',
  'deleteModelResponse',
  'listResponseInputItems',
] as const;

const types = () =>
  z.array(z.enum(TYPES, { error: `give some of ${TYPES.join(', ')}` }), { error: 'give a list' }).default([]);

export const allowedRequestTypes = check({
  id: 'default.allowedRequestTypes',
  passes: 'the kind of request is not in `blockedTypes` and, where `allowedTypes` is given, is in it',
  on: ['input'],
  span: 'whole',
  judges: 'call',
  tells: ['requestType'],
  parameters: () =>
    z.strictObject({ allowedTypes: types(), blockedTypes: types() }).superRefine((lists, context) => {
      const add = (path: (string | number)[], message: string) => context.addIssue({ code: 'custom', path, message });
      if (lists.allowedTypes.length + lists.blockedTypes.length === 0)
        add(['allowedTypes'], 'is missing; give allowedTypes or blockedTypes');
      lists.blockedTypes.forEach((type, index) => {
        if (lists.allowedTypes.includes(type)) add(['blockedTypes', index], `"${type}" is in allowedTypes, too`);
      });
    }),
  run: ({ endpointType }, { allowedTypes, blockedTypes }) => {
    const allowed: readonly string[] = allowedTypes;
    const isBlocked = (blockedTypes as readonly string[]).includes(endpointType);
    const verdict = !isBlocked && (allowed.length === 0 || allowed.includes(endpointType));
    return { verdict, data: { requestType: endpointType, allowedTypes, blockedTypes } };
  },
});
