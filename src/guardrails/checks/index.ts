import type { Check } from '../check.ts';
import { addPrefix } from './add-prefix.ts';
import { allLowerCase } from './all-lower-case.ts';
import { allUpperCase } from './all-upper-case.ts';
import { allowedRequestTypes } from './allowed-request-types.ts';
import { characterCount } from './character-count.ts';
import { contains } from './contains.ts';
import { containsCode } from './contains-code.ts';
import { endsWith } from './ends-with.ts';
import { jsonKeys } from './json-keys.ts';
import { jsonSchema } from './json-schema.ts';
import { jwt } from './jwt.ts';
import { language } from './language.ts';
import { log } from './log.ts';
import { modelJudge } from './model-judge.ts';
import { modelRules } from './model-rules.ts';
import { modelWhitelist } from './model-whitelist.ts';
import { notNull } from './not-null.ts';
import { pii } from './pii.ts';
import { promptInjection } from './prompt-injection.ts';
import { regexMatch } from './regex-match.ts';
import { regexReplace } from './regex-replace.ts';
import { requestParametersCheck } from './request-parameters-check.ts';
import { requiredMetadataKeyPairs } from './required-metadata-key-pairs.ts';
import { requiredMetadataKeys } from './required-metadata-keys.ts';
import { secrets } from './secrets.ts';
import { sentenceCount } from './sentence-count.ts';
import { startsWith } from './starts-with.ts';
import { validUrls } from './valid-urls.ts';
import { webhook } from './webhook.ts';
import { wordCount } from './word-count.ts';

/** Every check there is, in the order of the documentation. */
export const allChecks: readonly Check[] = [
  regexMatch,
  regexReplace,
  contains,
  startsWith,
  endsWith,
  sentenceCount,
  wordCount,
  characterCount,
  allUpperCase,
  allLowerCase,
  notNull,
  containsCode,
  jsonSchema,
  jsonKeys,
  validUrls,
  language,
  pii,
  secrets,
  promptInjection,
  modelJudge,
  modelWhitelist,
  modelRules,
  allowedRequestTypes,
  requiredMetadataKeys,
  requiredMetadataKeyPairs,
  requestParametersCheck,
  jwt,
  webhook,
  log,
  addPrefix,
];

/** By id, also by the ids that other gateways give them. */
export const checks: ReadonlyMap<string, Check> = new Map(
  allChecks.flatMap((one) => [one.id, ...(one.aliases ?? [])].map((id): [string, Check] => [id, one])),
);
