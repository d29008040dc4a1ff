import { type Fields, fault } from '../fields.ts';
import {
  EFFORTS,
  type Effort,
  type JsonObject,
  type ModelRequest,
  type Reasoning,
  type ResponseFormat,
  type Settings,
} from '../ir.ts';
import { present } from '../json.ts';
import { decodeTurns } from './decode-contents.ts';
import { decodeToolConfig, decodeTools } from './decode-tools.ts';
import { fieldsOf, innerFields, wordOf } from './fields.ts';
import { jsonSchema } from './json-schema.ts';

const NAMES = {
  maxOutputTokens: 'generationConfig.maxOutputTokens',
  temperature: 'generationConfig.temperature',
  topP: 'generationConfig.topP',
  topK: 'generationConfig.topK',
  stop: 'generationConfig.stopSequences',
  n: 'generationConfig.candidateCount',
  seed: 'generationConfig.seed',
  logprobs: 'generationConfig.responseLogprobs',
  frequencyPenalty: 'generationConfig.frequencyPenalty',
  presencePenalty: 'generationConfig.presencePenalty',
  responseFormat: 'generationConfig.responseMimeType',
  toolChoice: 'toolConfig.functionCallingConfig',
  reasoning: 'generationConfig.thinkingConfig',
  'reasoning.mode': 'generationConfig.thinkingConfig.thinkingBudget',
  'reasoning.budgetTokens': 'generationConfig.thinkingConfig.thinkingBudget',
  'reasoning.effort': 'generationConfig.thinkingConfig.thinkingLevel',
  'reasoning.display': 'generationConfig.thinkingConfig.includeThoughts',
  mime: 'mimeType',
};

/** Members that no other dialect has, and without which the answer would be another one. */
const ESSENTIAL = [
  'cachedContent',
  'generationConfig.responseModalities',
  'generationConfig.responseMimeType',
  'generationConfig.speechConfig',
  'generationConfig.imageConfig',
];

/** The body of a client, to which the gateway has added what the address says: `model`, and `stream` where it is one. */
export function decodeRequest(body: unknown): ModelRequest {
  const fields = fieldsOf(body, '');
  const model = fields.string('model').replace(/^models\//, '');
  const isStream = fields.boolean('stream');
  const turns = decodeTurns(fields);
  const tools = decodeTools(fields);
  const { toolChoice, leftOver: toolConfig } = decodeToolConfig(fields);
  const config = innerFields(fields, 'generationConfig');
  const settings = config ? readConfig(config) : {};
  const serviceTier = fields.optionalString('serviceTier')?.toLowerCase();
  const rest = { ...fields.rest(), ...present({ toolConfig, generationConfig: config?.rest() }) };
  return present<ModelRequest>({
    model,
    turns,
    tools,
    toolChoice,
    ...settings,
    serviceTier,
    stream: isStream,
    // Streams of this dialect always tell the usage.
    includeUsage: isStream ? true : undefined,
    ext: Object.keys(rest).length > 0 ? { gemini: rest } : undefined,
    origin: { dialect: 'gemini', names: NAMES, essential: ESSENTIAL },
  });
}

function readConfig(fields: Fields): Settings {
  const { responseModalities } = fields.raw();
  // Text is what every provider answers.
  if (Array.isArray(responseModalities) && responseModalities.every((name) => name === 'TEXT'))
    fields.take('responseModalities');
  const thinking = innerFields(fields, 'thinkingConfig');
  return present<Settings>({
    maxOutputTokens: fields.integer('maxOutputTokens'),
    temperature: fields.number('temperature'),
    topP: fields.number('topP'),
    topK: fields.number('topK'),
    stop: fields.strings('stopSequences'),
    n: fields.integer('candidateCount'),
    seed: fields.integer('seed', Number.MIN_SAFE_INTEGER),
    logprobs: readLogprobs(fields),
    frequencyPenalty: fields.number('frequencyPenalty'),
    presencePenalty: fields.number('presencePenalty'),
    responseFormat: readFormat(fields),
    reasoning: thinking && readThinking(thinking),
  });
}

function readLogprobs(fields: Fields): Settings['logprobs'] {
  const top = fields.integer('logprobs');
  return fields.boolean('responseLogprobs') ? present({ top }) : undefined;
}

function readFormat(fields: Fields): ResponseFormat | undefined {
  const { responseMimeType: type } = fields.raw();
  const isKnown = type === undefined || type === null || type === 'application/json' || type === 'text/plain';
  // A word of a list, or YAML: only Google has it.
  if (!isKnown && typeof type === 'string') return undefined;
  fields.optionalString('responseMimeType');
  const openApi = fields.json('responseSchema');
  const schema = fields.json('responseJsonSchema') ?? (openApi && jsonSchema(openApi));
  if (schema) return { type: 'schema', schema };
  return type === 'application/json' ? { type: 'json' } : type === 'text/plain' ? { type: 'text' } : undefined;
}

/** Thoughts are shown only to clients that ask for them. */
function readThinking(fields: Fields): Reasoning {
  const budget = fields.integer('thinkingBudget', -1);
  const effort = readLevel(fields);
  const isShown = fields.boolean('includeThoughts') === true;
  const rest: JsonObject | undefined = fields.rest();
  if (rest) fault(fields.pathOf(Object.keys(rest)[0]!), 'a member of thinkingConfig', undefined);
  if (budget === 0) return present<Reasoning>({ mode: 'off', effort });
  return present<Reasoning>({
    mode: budget === undefined ? undefined : budget < 0 ? 'adaptive' : 'budget',
    budgetTokens: budget !== undefined && budget > 0 ? budget : undefined,
    effort,
    display: isShown ? undefined : 'omitted',
  });
}

function readLevel(fields: Fields): Effort | undefined {
  const word = wordOf(fields, 'thinkingLevel')?.toLowerCase();
  if (word === undefined) return undefined;
  const effort = EFFORTS.find((known) => known === word);
  return effort ?? fault(fields.pathOf('thinkingLevel'), 'one of MINIMAL, LOW, MEDIUM, HIGH', word);
}
