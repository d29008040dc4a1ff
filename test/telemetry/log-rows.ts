import { expect } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LogRow } from '../../src/telemetry/log-columns.ts';
import type { LogQuery } from '../../src/telemetry/log-query.ts';
import type { LogBatch } from '../../src/telemetry/log-sink.ts';
import { headText, type PackedHead, writeHead } from '../../src/telemetry/packed-bodies.ts';

const folders: string[] = [];

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-log-'));
  folders.push(folder);
  return folder;
}

export function removeTemporaryFolders(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}

export function row(over: Partial<LogRow> = {}): LogRow {
  return {
    id: Bun.randomUUIDv7(),
    trace_id: 'trace',
    created_at: 1_700_000_000_000,
    organisation_id: 'org',
    workspace_id: 'workspace',
    api_key_id: 'key',
    user_id: null,
    virtual_key: 'openai',
    provider: 'openai',
    model: 'gpt-4o',
    method: 'POST',
    path: '/v1/chat/completions',
    status: 200,
    failed_by: null,
    error_code: null,
    is_stream: false,
    request_bytes: 10,
    response_bytes: 20,
    first_byte_ms: 1.5,
    duration_ms: 2.25,
    input_tokens: 3,
    output_tokens: 4,
    total_tokens: 7,
    cached_tokens: null,
    reasoning_tokens: null,
    cost: 0.001,
    client_address: '127.0.0.1',
    metadata: null,
    hook_results: null,
    session_id: null,
    attempt_count: 1,
    attempts: null,
    ...over,
  };
}

export const batchOf = (...rows: LogRow[]): LogBatch => ({ rows, bodies: rows.map(() => null) });

export const ask = (over: Partial<LogQuery> = {}): LogQuery => ({
  organisationId: 'org',
  workspaceId: 'workspace',
  limit: 100,
  ...over,
});

export interface BodiesForTest {
  readonly request?: string | Uint8Array;
  readonly response?: string | Uint8Array;
  readonly responseHeaders?: Record<string, string>;
  readonly truncated?: boolean;
  readonly isSearched?: boolean;
}

export function packHead({ request_headers, response_headers, ...head }: PackedHead): Uint8Array {
  const text = headText(head, JSON.stringify(request_headers), JSON.stringify(response_headers));
  const packed = Buffer.alloc(text.bytes);
  expect(writeHead(text, packed, 0)).toBe(text.bytes);
  return packed;
}

export function packed({
  request = '',
  response = '',
  responseHeaders = {},
  truncated = false,
  isSearched = false,
}: BodiesForTest): Uint8Array {
  const requestBytes = Buffer.from(request);
  const responseBytes = Buffer.from(response);
  const head = packHead({
    request_headers: { 'content-type': 'application/json' },
    response_headers: responseHeaders,
    request_kept: requestBytes.length,
    response_kept: responseBytes.length,
    request_truncated: false,
    response_truncated: truncated,
    ...(isSearched && { is_searched: true as const }),
  });
  return Buffer.concat([head, requestBytes, responseBytes]);
}

/** Asks until the answer is there; a failure after `withinMs` shows the last answer. */
export async function eventually(check: () => void | Promise<void>, withinMs = 120_000): Promise<void> {
  const end = Date.now() + withinMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > end) throw error;
      await Bun.sleep(20);
    }
  }
}
