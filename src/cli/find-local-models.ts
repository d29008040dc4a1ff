import { addressOf, hostOf, LOCAL_SERVERS, type LocalServer } from '../core/local-models.ts';
import { isObject } from '../dialects/json.ts';

/** A server on this machine answers within a millisecond or two. */
const PATIENCE_MS = 500;

/** What to say when a model server runs on this machine and the gateway may not call it. Null: there is none. */
export async function offerLocalModels(servers: readonly LocalServer[] = LOCAL_SERVERS): Promise<string | null> {
  const found = (await Promise.all(servers.map(async (server) => ((await answers(server)) ? [server] : [])))).flat();
  if (found.length === 0) return null;
  const lines = found.map((server) => `${server.title} runs on ${hostOf(server)}.`);
  const slugs = found.map(({ slug }) => slug);
  return `${lines.join(' ')} To call it through the gateway, start with GATEWAY_LOCAL_MODELS=${slugs.join(',')}`;
}

/** Whether what listens there lists models, in OpenAI's format. */
async function answers(server: LocalServer): Promise<boolean> {
  try {
    const response = await fetch(`${addressOf(server)}/models`, {
      redirect: 'error',
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const list: unknown = response.ok ? await response.json() : null;
    return isObject(list) && Array.isArray(list.data);
  } catch {
    return false;
  }
}
