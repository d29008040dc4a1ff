import { fail } from '../../core/errors.ts';
import { azure } from './azure.ts';
import type { Backend } from './backend.ts';
import { bedrock } from './bedrock.ts';
import { fireworks } from './fireworks.ts';
import { openai } from './openai.ts';
import { vertex } from './vertex.ts';

/** Which provider speaks whose fine-tuning API. */
const backends: ReadonlyMap<string, Backend> = new Map([
  ['openai', openai],
  ['azure-openai', azure],
  ['vertex-ai', vertex],
  ['bedrock', bedrock],
  ['fireworks-ai', fireworks],
  ['nebius', openai],
  ['simulator', openai],
]);

export const SUPPORTED = [...backends.keys()].join(', ');

export const backendOf = (provider: string): Backend =>
  backends.get(provider) ?? fail('fine_tuning_unsupported', provider, SUPPORTED);
