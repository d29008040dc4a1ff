import { area } from '../area/area.ts';
import type { Tools } from '../area/tools.ts';
import type { Background } from '../relay/background/background.ts';
import type { ModelCall } from '../relay/call.ts';
import type { ModelCatalogue } from '../relay/model-catalogue.ts';
import type { ModelNames } from '../relay/model-names.ts';
import type { Configs } from '../routing/configs.ts';
import { conversationRoutes } from './conversation-routes.ts';
import { type ConversationStore, createConversationStore } from './conversations-store.ts';
import { responseEndings } from './endings.ts';
import { googleModelRoutes } from './google-models.ts';
import { googleRoutes } from './google-routes.ts';
import { modelRoutes } from './models.ts';
import { ollamaRoutes } from './ollama-routes.ts';
import { responseRoutes } from './response-routes.ts';
import { createResponseStore, type ResponseStore } from './responses-store.ts';
import { startResponsesSweeper } from './responses-sweeper.ts';
import { inferenceRoutes } from './routes.ts';

/** Responses that are kept for clients. They open before the calls that make them. */
export const responsesArea = area({
  name: 'responses',
  open: ({ store, workers, now, settings }: Tools & { readonly settings: { readonly maxBodyBytes: number } }) => {
    const responses = createResponseStore({ store, workers, now, mostBytes: settings.maxBodyBytes });
    const conversations = createConversationStore({ store, now, mostBytes: settings.maxBodyBytes });
    return {
      gives: { responses, conversations },
      sweepers: [() => startResponsesSweeper(responses)],
      ends: responseEndings({ store, workers }),
    };
  },
});

export interface InferenceParts extends Tools {
  readonly relay: (call: ModelCall) => Promise<Response>;
  readonly responses: ResponseStore;
  readonly background: Background;
  readonly conversations: ConversationStore;
  readonly catalogue: ModelCatalogue;
  readonly names: ModelNames;
  readonly configs: Configs;
}

/** Calls of models. */
export const inferenceArea = area({
  name: 'inference',
  open: ({ relay, responses, background, conversations, catalogue, names, configs }: InferenceParts) => ({
    gives: {},
    routes: [
      ...responseRoutes({ responses, background, relay }),
      ...conversationRoutes(conversations),
      ...inferenceRoutes(relay),
      ...modelRoutes({ relay, catalogue, names, configs }),
      ...googleRoutes(relay),
      ...googleModelRoutes({ relay, catalogue, names, configs }),
      ...ollamaRoutes({ relay, catalogue, names, configs }),
    ],
  }),
});
