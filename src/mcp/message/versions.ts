/** From this version on the protocol has no sessions. */
export const STATELESS = '2026-07-28';

/** What members of `_meta` that the protocol itself defines begin with. */
export const META = 'io.modelcontextprotocol';

/** Whether a request speaks a version of the protocol without sessions; one that names no version is older. */
export const isStateless = (version: string | null): boolean =>
  version !== null && /^\d{4}-\d{2}-\d{2}$/.test(version) && version >= STATELESS;
