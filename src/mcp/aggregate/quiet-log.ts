import type { CallLog } from '../../core/call-log.ts';

/** For calls that the gateway makes on the way to an answer: the entry of the client's own call speaks for them. */
export const quietLog = (): CallLog => ({
  virtualKey: null,
  provider: null,
  model: null,
  prices: null,
  metadata: null,
  isStream: false,
  isCached: false,
  usage: null,
  keepBodies: false,
  requestHeaders: null,
  responseHeaders: null,
  hookResults: null,
  onCounted: null,
  captureRequest: () => ({ transferable: false, add: () => {} }),
  captureResponse: () => ({ transferable: false, add: () => {} }),
  closesLater: false,
  awaits: () => {},
  firstByte: () => {},
  close: () => {},
});
