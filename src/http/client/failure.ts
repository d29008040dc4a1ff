import { GatewayError } from '../../core/errors.ts';

export type Phase = 'connect' | 'first byte' | 'body' | 'total';

/** What went wrong on the way to a provider, and whether the request may have been carried out. */
export class UpstreamFailure extends Error {
  readonly host: string;
  readonly phase: Phase;
  readonly kind: 'unreachable' | 'timeout' | 'broken' | 'aborted';
  readonly sent: 'no' | 'maybe';
  readonly limitMs: number;

  constructor(facts: {
    host: string;
    phase: Phase;
    kind: UpstreamFailure['kind'];
    sent: 'no' | 'maybe';
    why: string;
    limitMs?: number;
  }) {
    super(facts.why);
    this.name = 'UpstreamFailure';
    this.host = facts.host;
    this.phase = facts.phase;
    this.kind = facts.kind;
    this.sent = facts.sent;
    this.limitMs = facts.limitMs ?? 0;
  }

  /** The answer a client gets when nothing else is tried. */
  toGatewayError(): GatewayError {
    if (this.kind === 'timeout') return new GatewayError('upstream_timeout', [this.host, this.phase, this.limitMs]);
    if (this.sent === 'no') return new GatewayError('upstream_unreachable', [this.host, this.message]);
    return new GatewayError('upstream_failed', [this.host, this.message]);
  }
}

/** An answer that is not HTTP/1.1, or whose end could be read in two ways. The text says what was wrong with it. */
export class Malformed extends Error {}
