import { Database } from 'bun:sqlite';
import type { TestGateway } from './gateway.ts';
import { lookInto } from './postgres.ts';
import { eventually } from './process.ts';

export interface LedgerRow {
  readonly state: string;
  readonly input_tokens: number;
  readonly output_tokens: number;
}

/** What was counted for a key, once so many rows are there. */
export async function ledgerOf(
  { dataDir, databaseUrl }: TestGateway,
  keyId: string,
  count: number,
): Promise<LedgerRow[]> {
  const query = 'select state, input_tokens, output_tokens from usage_ledger where api_key_id = ';
  let rows: LedgerRow[] = [];
  await eventually(`${count} rows of the ledger`, async () => {
    if (databaseUrl) {
      rows = (await lookInto(databaseUrl, (client) => client.query(`${query}$1`, [keyId]))).rows.map((row) => ({
        state: row.state,
        input_tokens: Number(row.input_tokens),
        output_tokens: Number(row.output_tokens),
      }));
    } else {
      const database = new Database(`${dataDir}/state.db`, { readonly: true });
      rows = database.query(`${query}?`).all(keyId) as LedgerRow[];
      database.close();
    }
    return rows.length >= count;
  });
  return rows;
}
