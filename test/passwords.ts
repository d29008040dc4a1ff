type Hash = typeof Bun.password.hash;

/** As little work as Argon2 allows. */
const LITTLE = { algorithm: 'argon2id', memoryCost: 8, timeCost: 1 } as const;
const passwords = Bun.password as { hash: Hash; ofBun?: Hash };
/** A process may come here twice; what it finds the second time is no longer Bun's own. */
passwords.ofBun ??= Bun.password.hash;
const { ofBun } = passwords;

/**
 * Hundreds of tests sign somebody in, and each password would take a tenth of a second of a core: in the process of the
 * tests their hashes are of the same kind and take no work. Processes of their own make them as users get them.
 */
const withLittleWork: Hash = (password) => ofBun(password, LITTLE);
passwords.hash = withLittleWork;

/** For a test that looks at the hashes themselves, until its end. */
export async function withRealHashes<Result>(work: () => Promise<Result>): Promise<Result> {
  passwords.hash = ofBun;
  try {
    return await work();
  } finally {
    passwords.hash = withLittleWork;
  }
}
