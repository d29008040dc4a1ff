import type { EndpointType } from '../core/endpoints.ts';
import type { GuardrailUse } from '../core/guardrails.ts';
import type { Principal } from '../core/principal.ts';
import type { Sealer } from '../crypto/seal.ts';
import { type Keeping, NOTHING_PROVEN, type Proof, type Proofs, type Proven } from '../guardrails/proof.ts';
import { GuardrailDenied } from '../guardrails/verdict.ts';
import type { SentHeaders } from '../http/headers.ts';
import type { Configs } from '../routing/configs.ts';
import type { TargetStep } from '../routing/plan.ts';
import { selectRoute } from '../routing/select.ts';
import { mayPass, targetsOf } from '../routing/strategy.ts';
import { askedBy, type Guard } from './guarding/guard.ts';
import type { GuardedCall } from './guarding/guarded.ts';

export interface WorkProofsDeps {
  readonly guard: Guard;
  readonly configs: Pick<Configs, 'resolve'>;
  readonly sealer: Sealer;
}

/** A request that begins work, or lets it go on. */
export interface WorkRequest {
  /** In whose name the work calls models. */
  readonly who: Principal;
  /** Of the request: what they prove is kept, they are not. */
  readonly headers: SentHeaders;
  /** What the work's calls will say in their headers; null: nothing that chooses a config. */
  readonly kept: SentHeaders | null;
  readonly endpoint: EndpointType;
  readonly log: GuardedCall['log'];
}

/** A token has at most 16 KB; no work needs more than a few of them. */
const MOST_CHARACTERS = 65_536;

/**
 * What callers prove when their work is accepted, for calls that the work makes without them. Sealed with the row of the
 * work and bound to its id: claims are about people, and another work's are of no use.
 */
export function createWorkProofs({ guard, configs, sealer }: WorkProofsDeps) {
  return {
    /**
     * Lets those checks of the work's guardrails look that judge the caller's own request. Throws 446 when no call of the
     * work could pass them.
     */
    async prove(request: WorkRequest): Promise<Proofs> {
      const { who, kept } = request;
      const proofs = new Map<string, Proof>();
      const keep = keeperOf(proofs);
      const route = kept && selectRoute({ headers: kept, path: '' }, who.defaults);
      if (route?.by !== 'config') {
        const denial = await denialOf(request, null, keep);
        if (denial) throw denial;
        return proofs;
      }
      const { root } = await configs.resolve(who, route.reference);
      const denied = new Map<TargetStep, GuardrailDenied>();
      for (const target of targetsOf(root)) {
        const denial = await denialOf(request, target.settings.guardrails, keep);
        if (denial) denied.set(target, denial);
      }
      if (!mayPass(root, (target) => denied.has(target))) throw denied.values().next().value;
      return proofs;
    },

    /** For the row of the work. */
    seal: (workId: string, proofs?: Proofs): string | null =>
      !proofs || proofs.size === 0 ? null : sealer.seal('work-proof', workId, JSON.stringify([...proofs])),

    /** For its calls. What cannot be opened proves nothing. */
    open(workId: string, sealed: string | null): Proven {
      if (sealed === null) return NOTHING_PROVEN;
      try {
        return { kept: new Map(JSON.parse(sealer.open('work-proof', workId, sealed)) as [string, Proof][]) };
      } catch {
        return NOTHING_PROVEN;
      }
    },
  };

  /** What the caller is refused with at a target that asks for these beside what holds anyway; null: nothing. */
  async function denialOf(
    { who, headers, kept, endpoint, log }: WorkRequest,
    asked: GuardrailUse | null,
    keep: Keeping['keep'],
  ): Promise<GuardrailDenied | null> {
    const call = { who, principal: who, asked, askedBy: askedBy(kept ?? {}), endpoint, headers, log };
    const rest = { model: null, provider: null, isStream: () => false, isStrict: true, proving: { keep } };
    try {
      await (await guard({ ...call, ...rest }))?.input({ bytes: null });
      return null;
    } catch (error) {
      if (error instanceof GuardrailDenied) return error;
      throw error;
    }
  }
}

export type WorkProofs = ReturnType<typeof createWorkProofs>;

const keeperOf =
  (proofs: Map<string, Proof>): Keeping['keep'] =>
  (key, proof) => {
    const others = [...proofs].filter(([name]) => name !== key);
    const fits = JSON.stringify([...others, [key, proof]]).length <= MOST_CHARACTERS;
    if (fits) proofs.set(key, proof);
    return fits;
  };
