import { GatewayError } from '../../core/errors.ts';

/** The id of a JSON-RPC request; null where the message has none, or none that can be read. */
export type RpcId = string | number | null;

/** Codes of JSON-RPC and MCP that the gateway answers itself. Others are statuses of HTTP, which no range reserves. */
export const RPC = {
  parseError: -32_700,
  invalidRequest: -32_600,
  invalidParams: -32_602,
  headerMismatch: -32_020,
} as const;

export interface RpcForm {
  readonly id: RpcId;
  readonly code: number;
  /** In the place of the facts that every error carries. */
  readonly data?: Readonly<Record<string, unknown>>;
}

/** An error of the gateway in the form that MCP clients read. */
export class RpcError extends GatewayError {
  readonly #inner: GatewayError;
  readonly #form: RpcForm;

  constructor(inner: GatewayError, form: RpcForm) {
    super(inner.code, [...inner.facts], { ...inner.headers });
    this.#inner = inner;
    this.#form = form;
  }

  override with(headers: Record<string, string>): RpcError {
    return new RpcError(this.#inner.with(headers), this.#form);
  }

  override body() {
    const { error, ...more } = this.#inner.body();
    const { message, ...facts } = error;
    const { id, code, data } = this.#form;
    return { jsonrpc: '2.0', id, error: { code, message, data: data ?? { ...facts, ...more } } };
  }
}
