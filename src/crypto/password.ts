import { fail } from '../core/errors.ts';

/** Each takes tens of milliseconds of a core: more at once would starve the calls beside them. */
const MOST_AT_ONCE = 2;
const MOST_WAITING = 64;

/** 19 MiB and two passes: what OWASP recommends where many sign in on a machine that does other work. */
const ARGON2 = { algorithm: 'argon2id', memoryCost: 19_456, timeCost: 2 } as const;

/** Hashes and checks passwords with Argon2id, off the event loop. Throws 503 when too many wait. */
export function createPasswords() {
  let running = 0;
  const waiting: (() => void)[] = [];
  let decoy: Promise<string> | null = null;

  const inTurn = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (running >= MOST_AT_ONCE) {
      if (waiting.length >= MOST_WAITING) fail('sign_in_busy');
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else running++;
    try {
      return await work();
    } finally {
      // The next in the queue takes this place over, so that a newcomer cannot take it first.
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
  const hash = (password: string) => inTurn(() => Bun.password.hash(password, ARGON2));

  return {
    hash,
    /** Without a hash it takes as long and says no: how long it takes must not tell who has an account. */
    async matches(password: string, stored: string | null): Promise<boolean> {
      decoy ??= hash(crypto.randomUUID());
      const compared = stored ?? (await decoy);
      const isRight = await inTurn(() => Bun.password.verify(password, compared));
      return isRight && stored !== null;
    },
  };
}

export type Passwords = ReturnType<typeof createPasswords>;
