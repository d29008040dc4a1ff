import { agentClients } from './agents.ts';
import { aiSdkClients } from './ai-sdk.ts';
import { anthropicClients } from './anthropic.ts';
import type { Client } from './client.ts';
import { googleClients } from './google.ts';
import { langchainClients } from './langchain.ts';
import { ollamaClients } from './ollama.ts';
import { openaiClients } from './openai.ts';
import { portkeyClients } from './portkey.ts';

/** Every client that is tried, in the order of the table. Their packages are loaded by the tests alone. */
export const clients: readonly Client[] = [
  ...openaiClients,
  ...anthropicClients,
  ...googleClients,
  ...aiSdkClients(5),
  ...aiSdkClients(6),
  ...aiSdkClients(7),
  ...langchainClients,
  ...ollamaClients,
  ...portkeyClients,
  ...agentClients,
];
