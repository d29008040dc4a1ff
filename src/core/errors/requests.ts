import { error, named, openai } from './entry.ts';

/** Some paths of ours are a provider's, too. */
const onward = (path: string): string =>
  path.startsWith('/v1/') && !path.startsWith('/v1/proxy/') ? ` /v1/proxy${path.slice(3)} reaches the provider.` : '';

/** What was asked, and how. */
export const requestErrors = {
  route_not_found: error(404, (method: string, path: string, neighbours: readonly string[] = []) => {
    const known = neighbours.length === 0 ? 'The API lives under /v1' : `There are ${neighbours.join(', ')}`;
    return `There is no ${method} ${path}. ${known}; see /docs.${onward(path)}`;
  }),
  method_not_allowed: error(
    405,
    (method: string, path: string, allowed: string) =>
      `${method} is not possible on ${path}. Use ${allowed}.${onward(path)}`,
  ),
  upgrade_not_served: error(
    426,
    (path: string, served: readonly string[]) =>
      `No WebSocket is served at ${path}${served.length > 0 ? `, but at ${served.join(' and ')}` : ''}. Ask by plain HTTP.`,
  ),
  session_bound: error(
    403,
    (what: string) =>
      `${what}: this conversation was opened with a client secret, and its settings are those of the secret. Ask for another secret.`,
    (what) => what,
  ),
  too_many_background_responses: error(
    429,
    (most: number) =>
      `${most} background responses of this workspace wait or are being made. Ask again when some have ended, or cancel one.`,
  ),
  too_many_turns: error(
    429,
    (most: number, what: string) =>
      `More than ${most} ${what} of this WebSocket wait. Send the next one when one of them has ended.`,
  ),
  websocket_connection_limit_reached: openai(
    400,
    (minutes: number) =>
      `Responses websocket connection limit reached (${minutes} minutes). Create a new websocket connection to continue.`,
  ),
  invalid_path: error(400, (why: string) => `The request path cannot be used: ${why}.`),
  invalid_header: error(400, (header: string, why: string) => `${header}: ${why}`, named),
  invalid_json: error(400, (why: string) => `The body is not valid JSON: ${why}.`),
  invalid_request: error(400, (param: string, why: string) => `${param}: ${why}`, named),
  unsupported_media_type: error(
    415,
    (got: string, wanted?: string) =>
      `This route takes ${wanted ?? 'application/json'}, not ${got || 'a body without a content type'}.`,
    () => 'content-type',
  ),
  body_too_large: error(413, (limit: number) => `The body is larger than ${limit} bytes, the limit of this route.`),
  body_too_slow: error(
    408,
    (pauseMs: number) =>
      `The body stopped coming, or came too slowly: at most ${pauseMs / 1_000} s may pass between two pieces of it.`,
  ),
  body_incomplete: error(400, () => 'The connection ended before the whole body had arrived.'),
  invalid_multipart: error(400, (why: string) => `The multipart body cannot be read: ${why}.`),
  model_hidden: error(
    400,
    (why: string) =>
      `A limit, a budget or the list of models of its key depends on the model of this call, and the model cannot be seen: ${why}. Nothing was sent.`,
    () => 'model',
  ),
  range_not_satisfiable: error(
    416,
    (range: string, size: number) => `range: ${range} asks for nothing that is there: there are ${size} bytes.`,
    () => 'range',
  ),
};
