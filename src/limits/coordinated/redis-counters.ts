import type { Redis, RedisScript } from '../../storage/redis.ts';
import type { Reservation, Settlement } from '../counters/counters.ts';
import { createRedisGroups, type RedisVerdict } from './redis-groups.ts';
import { endOf, type Hold, recordOf } from './redis-hold.ts';
import * as scripts from './redis-scripts.ts';

/** Redis no longer knows the epoch it is asked in: its memory is gone, or the nodes have moved on. */
export class EpochLost extends Error {
  override readonly name = 'EpochLost';
}

/** All counters, when they move into Redis. */
export interface CounterSnapshot {
  readonly counters: readonly { counter: string; used: number; held: number; endsAt: number | null }[];
  readonly holds: readonly { hold: Hold; leftMs: number }[];
}

/**
 * Counters in Redis. They hold no truth: `coordinated-counters.ts` can make them anew at any time, and each making has a
 * name of its own, its epoch. Every command says the epoch it believes in, and throws `EpochLost` without having changed
 * anything when that is not the one that counts.
 */
export interface RedisCounters {
  /** An id that is held already is admitted again: nothing is held twice. */
  reserve(epoch: string, reservation: Reservation, holdMs: number): Promise<RedisVerdict>;
  settle(epoch: string, settlement: Settlement): Promise<void>;
  renew(epoch: string, ids: readonly string[], holdMs: number): Promise<void>;
  read(epoch: string, counters: readonly string[]): Promise<Map<string, { used: number; held: number }>>;
  reset(epoch: string, counters: readonly string[]): Promise<void>;
  /** Some of the holds whose time is over. They stay held until `endHold` counts them as used. */
  due(epoch: string): Promise<Hold[]>;
  endHold(epoch: string, hold: Hold): Promise<void>;
  check(epoch: string): Promise<void>;
  /** Fills an epoch, and then makes it the one that counts. */
  load(epoch: string, snapshot: CounterSnapshot): Promise<void>;
  /** Makes an epoch count no more. */
  withdraw(epoch: string): Promise<void>;
  /** Removes what other epochs have left. */
  removeOthers(epoch: string): Promise<void>;
}

const DUE_AT_ONCE = '100';
const AT_ONCE = 500;

/** `tag` keeps installations that share a Redis apart, and all keys of one in the same hash slot. */
export function createRedisCounters(redis: Redis, tag: string): RedisCounters {
  const root = `gateway:{limits-${tag}}:`;
  const epochKey = `${root}epoch`;
  let places = placesOf(root, '');
  const placesIn = (epoch: string) => {
    if (places.epoch !== epoch) places = placesOf(root, epoch);
    return places;
  };
  const apart = async (script: RedisScript, epoch: string, args: string[]): Promise<unknown> => {
    const answer = await redis.eval(script, placesIn(epoch).keys, args);
    if (answer === null) throw new EpochLost('Redis does not hold these counters any more');
    return answer;
  };
  const groups = createRedisGroups(
    (epoch, args) => apart(scripts.APPLY, epoch, [epoch, placesIn(epoch).counters, ...args]) as Promise<number[]>,
  );
  /** After everything that was settled and reserved before. */
  const run = (script: RedisScript, epoch: string, args: string[]): Promise<unknown> => {
    groups.send();
    return apart(script, epoch, args);
  };

  return {
    reserve: groups.reserve,
    settle: groups.settle,
    renew: async (epoch, ids, holdMs) => {
      for (const some of chunks(ids, AT_ONCE)) await run(scripts.RENEW, epoch, [epoch, String(holdMs), ...some]);
    },
    read: async (epoch, counters) => {
      const found = new Map<string, { used: number; held: number }>();
      for (const some of chunks(counters, AT_ONCE)) {
        const sums = (await run(scripts.READ, epoch, [epoch, placesIn(epoch).counters, ...some])) as number[];
        for (const [index, counter] of some.entries())
          found.set(counter, { used: sums[index * 2]!, held: sums[index * 2 + 1]! });
      }
      return found;
    },
    reset: async (epoch, counters) => {
      for (const some of chunks(counters, AT_ONCE))
        await run(scripts.RESET, epoch, [epoch, placesIn(epoch).counters, ...some]);
    },
    due: async (epoch) => {
      const flat = (await run(scripts.DUE, epoch, [epoch, DUE_AT_ONCE])) as string[];
      return chunks(flat, 2).map(([id, record]) => ({ id: id!, ...(JSON.parse(record!) as Omit<Hold, 'id'>) }));
    },
    endHold: async (epoch, { id, charges }) => {
      const args = [epoch, placesIn(epoch).counters, id];
      for (const [counter, amount] of charges) args.push(counter, String(amount));
      await run(scripts.END_HOLD, epoch, args);
    },
    check: async (epoch) => {
      await run(scripts.CHECK, epoch, [epoch]);
    },
    load: async (epoch, { counters, holds }) => {
      const { keys, counters: prefix } = placesIn(epoch);
      await redis.eval(scripts.BEGIN_LOAD, keys, []);
      for (const some of chunks(counters, AT_ONCE)) {
        const rows = some.flatMap(({ counter, used, held, endsAt }) => [counter, `${used}`, `${held}`, endOf(endsAt)]);
        await redis.eval(scripts.LOAD_COUNTERS, keys, [prefix, ...rows]);
      }
      for (const some of chunks(holds, AT_ONCE)) {
        const rows = some.flatMap(({ hold, leftMs }) => [hold.id, recordOf(hold), leftMs.toFixed(0)]);
        await redis.eval(scripts.LOAD_HOLDS, keys, rows);
      }
      await run(scripts.OPEN, epoch, [epoch]);
    },
    withdraw: async (epoch) => {
      await redis.eval(scripts.WITHDRAW, placesOf(root, epoch).keys, [epoch]);
    },
    removeOthers: async (epoch) => {
      let cursor = '0';
      do {
        const args = [`${root.replace(/[*?[\]\\]/g, '\\$&')}*`, placesOf(root, epoch).prefix, cursor];
        cursor = String(await redis.eval(scripts.REMOVE_OTHERS, [epochKey], args));
      } while (cursor !== '0');
    },
  };
}

const placesOf = (root: string, epoch: string) => {
  const prefix = `${root}${epoch}:`;
  return {
    epoch,
    prefix,
    counters: `${prefix}c:`,
    keys: [`${root}epoch`, `${prefix}holds`, `${prefix}due`, `${prefix}ended`],
  };
};

function chunks<Item>(list: readonly Item[], size: number): Item[][] {
  const parts: Item[][] = [];
  for (let at = 0; at < list.length; at += size) parts.push(list.slice(at, at + size));
  return parts;
}
