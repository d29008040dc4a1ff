import * as z from 'zod';
import { fail } from '../../core/errors.ts';
import { newId } from '../../core/ids.ts';
import type { JsonObject } from '../../dialects/ir.ts';
import { type Call, post, type Route } from '../../http/route.ts';
import type { Secrets } from './secrets.ts';

const SCOPES = ['completions.write'] as const;
const SECONDS = 600;
const SHORTEST = 10;
const LONGEST = 7_200;

const secretBody = () =>
  z.strictObject({
    expires_after: z
      .strictObject({
        anchor: z.literal('created_at').optional(),
        seconds: z.int().min(SHORTEST, `give ${SHORTEST} to ${LONGEST}`).max(LONGEST, `give ${SHORTEST} to ${LONGEST}`),
      })
      .optional(),
    session: z.looseObject({
      type: z.enum(['realtime', 'transcription'], { error: 'give "realtime" or "transcription"' }).default('realtime'),
      model: z.string().min(1).optional(),
    }),
    single_use: z.boolean().optional().describe('Good for one conversation, whichever node it is opened on.'),
  });

const secretResponse = () =>
  z.object({ value: z.string(), expires_at: z.int(), session: z.looseObject({ id: z.string() }) });

/** Secrets of the gateway's own. What a provider would give never leaves. */
export const secretRoutes = (secrets: Secrets): Route[] => [
  post(
    '/v1/realtime/client_secrets',
    {
      scopes: SCOPES,
      summary: 'A secret for a client that opens one conversation in real time, as this key',
      body: secretBody,
      response: secretResponse,
      isProviders: true,
    },
    async (call) => {
      const { session, expires_after, single_use = false } = call.body;
      const seconds = expires_after?.seconds ?? SECONDS;
      const { value, expiresAt } = await made(call, secrets, session, seconds, single_use);
      return { value, expires_at: Math.floor(expiresAt / 1_000), session: shown(session) };
    },
  ),
  // As clients of the beta ask for it: the body is the session.
  ...['/v1/realtime/sessions', '/v1/realtime/transcription_sessions'].map((path) =>
    post(
      path,
      {
        scopes: SCOPES,
        summary: 'The same, in the form of the beta',
        body: () => z.looseObject({ model: z.string().min(1).optional() }),
        isProviders: true,
      },
      async (call: Call<unknown, JsonObject>) => {
        const { body: session } = call;
        const { value, expiresAt } = await made(call, secrets, session, SECONDS, false);
        return { ...shown(session), client_secret: { value, expires_at: Math.floor(expiresAt / 1_000) } };
      },
    ),
  ),
];

function made(
  call: Call<unknown, unknown>,
  secrets: Secrets,
  session: JsonObject,
  seconds: number,
  isSingleUse: boolean,
) {
  const { models } = call.principal;
  const { model } = session;
  if (typeof model !== 'string' && session.type === 'realtime')
    fail('invalid_request', 'session.model', 'is missing; the secret is bound to it');
  if (models && typeof model === 'string' && !models.allows(model)) fail('model_not_allowed', model, models.names);
  return secrets.make(call.principal, call.headers, { session, seconds, isSingleUse });
}

const shown = (session: JsonObject): JsonObject => ({
  ...session,
  object: 'realtime.session',
  id: `sess_${newId<string>()}`,
});
