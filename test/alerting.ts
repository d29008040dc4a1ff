import { expect } from 'bun:test';
import { type client, serve } from './gateway.ts';
import { eventually } from './process.ts';

export interface AlertEvent {
  readonly id: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>> & { readonly summary: string; readonly reason?: string };
}

/** A receiver that keeps what it is told, and answers as it is told to. */
export function startListener(answer: () => Response | Promise<Response> = () => new Response(null, { status: 204 })) {
  const events: AlertEvent[] = [];
  const { origin, stop } = serve(async (request) => {
    events.push((await request.json()) as AlertEvent);
    return answer();
  });
  return { url: `${origin}/told`, events, stop };
}

type Api = ReturnType<typeof client>;
type Listener = ReturnType<typeof startListener>;

const PATIENCE_MS = 180_000;

/** An alert with a channel of its own to a listener. */
export async function givenAlert(
  api: Api,
  condition: Record<string, unknown>,
  more: Record<string, unknown> = {},
  listener: Listener = startListener(),
) {
  const { organisation_id, workspace_id } = more;
  const made = async (path: string, body: Record<string, unknown>) => {
    const reply = await api.post(path, { organisation_id, workspace_id, ...body });
    expect([reply.status, reply.text]).toEqual([200, expect.any(String)]);
    return reply.json;
  };
  const channel = await made('/v1/alert-channels', {
    ...{ name: 'told', kind: 'webhook', settings: { url: listener.url } },
  });
  const { id } = await made('/v1/alerts', { name: 'Watched', condition, channels: [channel.id], ...more });
  const path = `/v1/alerts/${id}`;
  const { events } = listener;
  return {
    path,
    events,
    channel: `/v1/alert-channels/${channel.id}`,
    types: () => events.map(({ type }) => type),
    told: (type: string, count = 1) =>
      eventually(`${type} is told`, () => events.filter((event) => event.type === type).length >= count, PATIENCE_MS),
    change: async (body: Record<string, unknown>) => {
      const changed = await api.put(path, body);
      expect([changed.status, changed.text]).toEqual([200, expect.any(String)]);
    },
    read: async () => (await api.get(path)).json,
    end: async () => {
      await api.delete(path);
      await api.delete(`/v1/alert-channels/${channel.id}`);
      listener.stop();
    },
  };
}

export const CALL = { model: 'demo', messages: [{ role: 'user', content: 'Hello' }] };
