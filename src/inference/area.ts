import { area } from '../area/area.ts';
import type { Tools } from '../area/tools.ts';
import type { VirtualKeys } from '../auth/virtual-keys.ts';
import type { TokenSource } from '../providers/provider.ts';
import type { ModelCall } from '../relay/call.ts';
import { responseEndings } from './endings.ts';
import { createModelCatalogue } from './model-catalogue.ts';
import { modelRoutes } from './models.ts';
import { responseRoutes } from './response-routes.ts';
import { createResponseStore, type ResponseStore } from './responses-store.ts';
import { startResponsesSweeper } from './responses-sweeper.ts';
import { inferenceRoutes } from './routes.ts';

/** Responses that are kept for clients. They open before the calls that make them. */
export const responsesArea = area({
  name: 'responses',
  open: ({ store, now, settings }: Tools & { readonly settings: { readonly maxBodyBytes: number } }) => {
    const responses = createResponseStore({ store, now, mostBytes: settings.maxBodyBytes });
    return {
      gives: { responses },
      sweepers: [() => startResponsesSweeper(responses)],
      ends: responseEndings(store),
    };
  },
});

export interface InferenceParts extends Tools {
  readonly relay: (call: ModelCall) => Promise<Response>;
  readonly responses: ResponseStore;
  readonly virtualKeys: VirtualKeys;
  readonly tokens: TokenSource;
}

/** Calls of models. */
export const inferenceArea = area({
  name: 'inference',
  open: ({ relay, responses, virtualKeys, upstream, simulate, tokens, turnNow }: InferenceParts) => {
    const catalogue = createModelCatalogue({ virtualKeys, upstream, simulate, tokens, now: turnNow });
    return {
      gives: {},
      routes: [
        ...responseRoutes({ responses, relay }),
        ...inferenceRoutes(relay),
        ...modelRoutes({ relay, catalogue }),
      ],
    };
  },
});
