/** From this version on the protocol has no sessions. */
export const STATELESS = '2026-07-28';

/** Versions with sessions in which the gateway itself can answer, the newest first. */
const WITH_SESSIONS = ['2025-11-25', '2025-06-18', '2025-03-26'] as const;

/** The version that a client asks for, else the newest. */
export const agreedVersion = (asked: unknown): string =>
  WITH_SESSIONS.find((version) => version === asked) ?? WITH_SESSIONS[0];

/** What every answer of the gateway's own says in that version: it is whole, and not to be kept. */
export const STATELESS_RESULT = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' } as const;

/** What members of `_meta` that the protocol itself defines begin with. */
export const META = 'io.modelcontextprotocol';

/** Whether that is a version of the protocol with sessions. */
export const isOlder = (version: string): boolean => /^\d{4}-\d{2}-\d{2}$/.test(version) && version < STATELESS;

/** Whether a request speaks a version of the protocol without sessions; one that names no version is older. */
export const isStateless = (version: string | null): boolean =>
  version !== null && /^\d{4}-\d{2}-\d{2}$/.test(version) && version >= STATELESS;
