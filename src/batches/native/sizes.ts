import { estimateTokens } from '../../limits/estimate.ts';
import { bodyOf } from '../request-line.ts';
import type { Members } from './api.ts';

/** What the requests of one model may take together. */
export interface ModelSize {
  readonly model: string | null;
  readonly requests: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** A batch with more models than this is not added up. */
const MOST_MODELS = 20;

/** Adds up what requests may take, model by model, while they are read. */
export class Sizes {
  readonly #byModel = new Map<string | null, ModelSize>();
  #isTooMany = false;

  add(line: Uint8Array, { model: given }: Members) {
    const model = typeof given === 'string' ? given : null;
    const known = this.#byModel.get(model) ?? { model, requests: 0, inputTokens: 0, outputTokens: 0 };
    if (known.requests === 0 && this.#byModel.size === MOST_MODELS) this.#isTooMany = true;
    if (this.#isTooMany) return;
    const { inputTokens, outputTokens } = estimateTokens({ bytes: bodyOf(line), isJson: true, hasMore: false, model });
    this.#byModel.set(model, {
      model,
      requests: known.requests + 1,
      inputTokens: known.inputTokens + inputTokens,
      outputTokens: known.outputTokens + outputTokens,
    });
  }

  /** Null: there are too many models. */
  get all(): readonly ModelSize[] | null {
    return this.#isTooMany ? null : [...this.#byModel.values()];
  }
}
