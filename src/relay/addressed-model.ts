/** Gemini and Vertex AI (`/models/x:verb`), Bedrock (`/model/x/invoke`), Azure, SageMaker. */
const NAMED = /\/(?:models?|deployments|endpoints)\/([^/]+?)(?::[a-zA-Z]+)?(?:\/|$)/i;

const EACH_NAMED = /\/(?:models?|deployments|endpoints)\/([^/]+?)(?::[a-zA-Z]+)?(?=\/|$)/gi;

/** The model that the address of a provider's own API names. What the body says beside it counts for nothing there. */
export function modelInPath(path: string): string | null {
  const name = (NAMED.exec(path) ?? (/[%;]/.test(path) ? NAMED.exec(asServersRead(path)) : null))?.[1];
  if (name === undefined) return null;
  try {
    return withoutParameters(decodeURIComponent(name));
  } catch {
    return name;
  }
}

/** All that the address could name: servers differ in which part they take. */
export function modelsInPath(path: string): string[] {
  const plain = asServersRead(path);
  return [...plain.matchAll(EACH_NAMED)].map(([, name]) => name!);
}

const withoutParameters = (path: string): string => path.replace(/;[^/]*/g, '');

/** `/%6dodels;a=b/x` is `/models/x` to some servers: what one of them would serve is what limits and policies judge. */
function asServersRead(path: string): string {
  try {
    return withoutParameters(decodeURIComponent(path));
  } catch {
    return path;
  }
}
