import type { PriceFile } from '../core/price-file.ts';
import { builtInPrices, type Prices, pricesOf } from '../core/prices.ts';

/** The prices in force: the operator's file over the list that was synced, over the built-in one. */
export interface LivePrices extends Prices {
  lay(layer: 'operator' | 'synced', file: PriceFile | null): void;
}

export function createLivePrices(): LivePrices {
  const layers: Record<'operator' | 'synced', PriceFile | null> = { operator: null, synced: null };
  let prices = builtInPrices;
  return {
    priceOf: (...asked) => prices.priceOf(...asked),
    costOf: (...asked) => prices.costOf(...asked),
    listedBy: (model) => prices.listedBy(model),
    lay: (layer, file) => {
      layers[layer] = file;
      const files = [layers.operator, layers.synced].filter((each) => each !== null);
      prices = files.length === 0 ? builtInPrices : pricesOf(...files);
    },
  };
}

/** Reads the synced list again when it has changed, here or on another node. A store that is away is asked again. */
export function followSynced(prices: LivePrices, read: () => Promise<PriceFile | null>) {
  let line: Promise<void> = Promise.resolve();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const load = async () => {
    clearTimeout(timer);
    try {
      prices.lay('synced', await read());
    } catch {
      timer = setTimeout(refresh, AGAIN_MS);
      timer.unref?.();
    }
  };
  const refresh = (): Promise<void> => {
    line = line.then(load);
    return line;
  };
  return { refresh, close: () => clearTimeout(timer) };
}

const AGAIN_MS = 1_000;
