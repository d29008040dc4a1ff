/** Gemini and Vertex AI (`/models/x:verb`), Bedrock (`/model/x/invoke`), Azure, SageMaker. */
const NAMED = /\/(?:models?|deployments|endpoints)\/([^/]+?)(?::[a-zA-Z]+)?(?:\/|$)/;

/** The model that the address of a provider's own API names. What the body says beside it counts for nothing there. */
export function modelInPath(path: string): string | null {
  const name = NAMED.exec(path)?.[1];
  if (name === undefined) return null;
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
