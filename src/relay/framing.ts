import { AwsEventStreamParser, type AwsMessage } from '../dialects/aws-event-stream.ts';
import { type ServerSentEvent, SseParser } from '../dialects/sse.ts';

/** Cuts a provider's stream into events. */
export interface Framing {
  push(piece: Uint8Array): readonly ServerSentEvent[];
  end(): readonly ServerSentEvent[];
}

/** AWS messages as events: `contentBlockDelta`, and `exception/throttlingException` for what went wrong. */
function awsFraming(): Framing {
  const parser = new AwsEventStreamParser();
  const decoder = new TextDecoder();
  const event = ({ headers, payload }: AwsMessage): ServerSentEvent => ({
    event:
      headers[':message-type'] === 'event'
        ? String(headers[':event-type'])
        : `exception/${headers[':exception-type'] ?? headers[':error-code'] ?? 'unknown'}`,
    data: payload.length > 0 ? decoder.decode(payload) : JSON.stringify({ message: headers[':error-message'] ?? '' }),
  });
  return { push: (piece) => parser.push(piece).map(event), end: () => parser.end().map(event) };
}

export const framings: Readonly<Record<'sse' | 'aws', () => Framing>> = {
  sse: () => new SseParser(),
  aws: awsFraming,
};
