import { fail } from '../../core/errors.ts';
import { sha256 } from '../../crypto/seal.ts';
import type { DeviceCodeRow } from '../../storage/schema.ts';
import { type Db, isUniqueViolation, type Store } from '../../storage/store.ts';
import type { SignInLimits } from '../sign-in-limits.ts';
import { newDeviceCode, newUserCode, userCodeIn } from './tokens.ts';

export interface DeviceCodesDeps {
  readonly store: Store;
  readonly limits: SignInLimits;
  readonly now: () => number;
}

/** What a program is told that wants to be let in. */
export interface DeviceRequest {
  readonly deviceCode: string;
  readonly userCode: string;
  readonly seconds: number;
  readonly pauseSeconds: number;
}

/** Who types a code into the page. */
export interface Typist {
  readonly userId: string;
  readonly address: string;
}

const LIVES_MS = 600_000;
const PAUSE_MS = 5_000;
/** Clocks and networks are not exact: a program that keeps to its pause is not told to slow down. */
const TOLERANCE_MS = 1_000;
/** A person needs one or two. More often, several people are shown the same code. */
const MOST_LOOKS = 20;
const MOST_SWEPT = 500;

/** Programs that wait for a person, each known by two codes: a long one that it keeps, and a short one that it shows. */
export function createDeviceCodes({ store, limits, now }: DeviceCodesDeps) {
  const sweep = (db: Db, at: number) =>
    db
      .deleteFrom('device_codes')
      .where('hash', 'in', (query) =>
        query.selectFrom('device_codes').select('hash').where('expires_at', '<=', at).limit(MOST_SWEPT),
      )
      .execute();

  const insert = async (deviceCode: string, clientId: string | null): Promise<string> => {
    const at = now();
    const row: DeviceCodeRow = {
      hash: sha256(deviceCode),
      user_code: newUserCode(),
      client_id: clientId,
      state: 'pending',
      grant_id: null,
      looks: 0,
      pause_ms: PAUSE_MS,
      polled_at: null,
      created_at: at,
      expires_at: at + LIVES_MS,
    };
    await store.transaction(async (db) => {
      await sweep(db, at);
      await db.insertInto('device_codes').values(row).execute();
    });
    return row.user_code;
  };

  return {
    async begin(clientId: string | null): Promise<DeviceRequest> {
      const deviceCode = newDeviceCode();
      const again = (error: unknown) =>
        isUniqueViolation(error) ? insert(deviceCode, clientId) : Promise.reject(error);
      const userCode = await insert(deviceCode, clientId).catch(again);
      return { deviceCode, userCode, seconds: LIVES_MS / 1_000, pauseSeconds: PAUSE_MS / 1_000 };
    },

    /**
     * The program behind a code that a person typed. A wrong one counts as a failure to sign in, for the person and for the
     * address; and one that is looked at too often ends.
     */
    async find(typed: string, { userId, address }: Typist): Promise<DeviceCodeRow> {
      const name = `device ${userId}`;
      await limits.begin(name, address);
      const code = userCodeIn(typed);
      const row =
        code === null
          ? undefined
          : await store.db
              .updateTable('device_codes')
              .set((set) => ({ looks: set('looks', '+', 1) }))
              .where('user_code', '=', code)
              .where('state', '=', 'pending')
              .where('looks', '<', MOST_LOOKS)
              .where('expires_at', '>', now())
              .returningAll()
              .executeTakeFirst();
      if (!row) return fail('device_code_unknown');
      await limits.succeeded(name, address);
      return row;
    },

    /** The person does not want it. */
    async deny(hash: string): Promise<void> {
      await store.db
        .updateTable('device_codes')
        .set({ state: 'denied' })
        .where('hash', '=', hash)
        .where('state', '=', 'pending')
        .execute();
    },

    /** Whether the program asks sooner than it was told to; it then has to wait longer from now on. */
    async paced(db: Db, { hash, polled_at, pause_ms }: DeviceCodeRow): Promise<boolean> {
      const at = now();
      const isEarly = polled_at !== null && at - Number(polled_at) < pause_ms - TOLERANCE_MS;
      const next = isEarly ? Math.min(pause_ms + PAUSE_MS, LIVES_MS) : pause_ms;
      await db.updateTable('device_codes').set({ polled_at: at, pause_ms: next }).where('hash', '=', hash).execute();
      return !isEarly;
    },
  };
}

export type DeviceCodes = ReturnType<typeof createDeviceCodes>;
