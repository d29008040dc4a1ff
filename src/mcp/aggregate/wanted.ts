import { type ReadMessage, refused } from '../message/message.ts';
import { RPC } from '../message/rpc-error.ts';
import { isObject } from './conversation.ts';
import type { Wanted } from './streams.ts';

const CHANGES = ['toolsListChanged', 'promptsListChanged', 'resourcesListChanged'] as const;
const MOST_RESOURCES = 1_000;

/** What a client wants to hear of, as it asks for it. */
export function wantedIn({ id, params }: ReadMessage): Wanted {
  const { notifications } = params;
  if (!isObject(notifications)) throw refused('params.notifications is no object', RPC.invalidParams, id);
  const { resourceSubscriptions: uris } = notifications;
  const isList = Array.isArray(uris) && uris.length <= MOST_RESOURCES && uris.every((uri) => typeof uri === 'string');
  if (uris !== undefined && !isList)
    throw refused(
      `params.notifications.resourceSubscriptions is no list of at most ${MOST_RESOURCES} addresses`,
      RPC.invalidParams,
      id,
    );
  return {
    ...Object.fromEntries(CHANGES.filter((name) => notifications[name] === true).map((name) => [name, true])),
    ...(isList && uris.length > 0 && { resourceSubscriptions: uris as string[] }),
  };
}
