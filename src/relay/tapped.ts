import type { Capture } from '../core/call-log.ts';
import type { Incoming } from '../http/upstream.ts';

/** The same answer, of which note is taken as it passes. */
export const tapped = (incoming: Incoming, capture: Capture): Incoming => ({
  status: incoming.status,
  statusText: incoming.statusText,
  get headers() {
    return incoming.headers;
  },
  fields: incoming.fields,
  read: async () => {
    const piece = await incoming.read();
    if (piece) capture.add(piece);
    return piece;
  },
  bytes: async () => {
    const bytes = await incoming.bytes();
    capture.add(bytes);
    return bytes;
  },
  cancel: () => incoming.cancel(),
});
