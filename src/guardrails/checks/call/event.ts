import type { Facts, TextPart } from '../../check.ts';
import { saidIn } from '../text/turns.ts';

const joined = (texts: readonly TextPart[]): string =>
  saidIn(texts)
    .map(({ text }) => text)
    .join('\n');

/** What others' servers are told of a call. Headers are not: they hold credentials. */
export function eventOf(facts: Facts): Record<string, unknown> {
  const { on, texts, json, request, status, isStream, provider, endpointType, metadata, model } = facts;
  const isOutput = on === 'output';
  return {
    eventType: isOutput ? 'afterRequestHook' : 'beforeRequestHook',
    provider,
    requestType: endpointType,
    model,
    metadata,
    request: { json: request.json, text: joined(request.texts), isStreamingRequest: isStream, isTransformed: false },
    response: isOutput
      ? { json, text: joined(texts), statusCode: status, isTransformed: false }
      : { json: null, text: '', statusCode: null, isTransformed: false },
  };
}

/** The request headers that a check was told to send on, as far as they came. */
export const sentOn = ({ headers }: Pick<Facts, 'headers'>, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])));
