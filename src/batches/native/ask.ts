import type { VirtualKeys } from '../../auth/virtual-keys.ts';
import type { Principal } from '../../core/principal.ts';
import type { Incoming } from '../../http/upstream.ts';
import {
  askProvider,
  ProviderAway,
  type ProviderCall,
  type ProviderCallDeps,
  ProviderRefused,
  type Question,
  sendToProvider,
} from '../../relay/provider-call.ts';
import { findTarget, type Target } from '../../relay/target.ts';
import { members, type Place, text } from './api.ts';
import { placeOf } from './apis.ts';

export interface AskDeps extends ProviderCallDeps {
  readonly virtualKeys: Pick<VirtualKeys, 'resolve'>;
}

/** One provider, as the code that asks it about batches sees it. */
export interface Provider {
  readonly target: Target;
  readonly place: Place;
  ask(question: Question): Promise<unknown>;
  /** An answer that is a good one, its body unread. */
  send(call: ProviderCall): Promise<Incoming>;
}

/** The provider behind a virtual key. */
export async function providerBehind(
  { who, virtualKey, signal }: { who: Principal; virtualKey: string; signal: AbortSignal },
  deps: AskDeps,
): Promise<Provider> {
  const selection = { by: 'virtual-key', slug: virtualKey } as const;
  const target = await findTarget(selection, who, { headers: {}, providerKey: null }, deps.virtualKeys);
  return {
    target,
    place: placeOf(await deps.virtualKeys.resolve(who, virtualKey), target.options),
    send: (call) => sendToProvider(target, call, deps, signal).catch(unlessConflict),
    ask: async (question) => {
      const answer = await askProvider(target, question, deps, signal).catch(unlessConflict);
      if (answer === undefined) throw new ProviderAway('its answer is not JSON');
      return answer;
    },
  };
}

/** 409: another request changes the object at this moment. It is asked again later. */
function unlessConflict(error: unknown): never {
  if (error instanceof ProviderRefused && error.status === 409)
    throw new ProviderAway('it answered 409', { status: 409 });
  throw error;
}

const SHOWN_CHARACTERS = 500;

/** Why a provider said no, in its own words. */
export function reasonOf({ status, answer }: ProviderRefused): string {
  const { error, message } = members(answer);
  const why = text(members(error).message) ?? text(message) ?? text(error) ?? 'it gave no reason.';
  return `The provider answered ${status}: ${why.slice(0, SHOWN_CHARACTERS)}`;
}
