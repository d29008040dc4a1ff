/** What a provider sent is not what its dialect or framing says; no fault of the client. */
export class FramingError extends Error {
  constructor(why: string) {
    super(why);
    this.name = 'FramingError';
  }
}
