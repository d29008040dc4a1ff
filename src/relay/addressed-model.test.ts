import { expect, test } from 'bun:test';
import { modelInPath } from './addressed-model.ts';

for (const [path, model] of [
  ['/models/gemini-2.5-pro:generateContent', 'gemini-2.5-pro'],
  ['/v1beta/models/gemini-2.5-pro:streamGenerateContent', 'gemini-2.5-pro'],
  ['/v1beta/models/gemini%2D2.5-pro:generateContent', 'gemini-2.5-pro'],
  ['/projects/p/locations/l/publishers/google/models/gemini-2.5-pro:generateContent', 'gemini-2.5-pro'],
  ['/model/anthropic.claude-3-haiku-20240307-v1:0/invoke', 'anthropic.claude-3-haiku-20240307-v1:0'],
  ['/model/anthropic.claude-3-haiku-20240307-v1%3A0/converse-stream', 'anthropic.claude-3-haiku-20240307-v1:0'],
  ['/openai/deployments/gpt-4o/chat/completions', 'gpt-4o'],
  ['/endpoints/my-endpoint/invocations', 'my-endpoint'],
  ['/models/ft:gpt-4o:acme', 'ft:gpt-4o'],
  ['/models/broken%zz:generateContent', 'broken%zz'],
  ['/%6dodels/gpt-4o:generateContent', 'gpt-4o'],
  ['/models;a=b/gpt-4o:generateContent', 'gpt-4o'],
  ['/models/gpt-4o;a=b:generateContent', 'gpt-4o'],
  ['/x%2Fmodels%2Fgpt-4o:generateContent', 'gpt-4o'],
  ['/openai/Deployments/gpt-4o/chat/completions', 'gpt-4o'],
  ['/model/arn%3Aaws%3Abedrock%3Aeu%3A1%3Aprofile%2Feu.x/invoke', 'arn:aws:bedrock:eu:1:profile/eu.x'],
  ['/chat/completions', null],
  ['/models', null],
  ['/batches/models', null],
] as const)
  test(`${path} names ${model ?? 'no model'}`, () => expect(modelInPath(path)).toBe(model));
