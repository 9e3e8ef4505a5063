import { formatNanos, type NanoUsd, nanosOf, nanosPerUsd } from '#common';
import { type Price, priceAt, type Pricing } from './pricing.js';

/** What `count` counts, by the unit that a price is for. */
const measures = {
  /** Tokens or characters, priced by the million. */
  million: { perUnit: 1_000_000n, decimals: 6 },
  /** Characters, priced by the thousand. */
  thousand: { perUnit: 1_000n, decimals: 6 },
  /** Milliseconds, priced by the second. */
  second: { perUnit: 1_000n, decimals: 3 },
  /** Whole pieces or whole seconds. */
  piece: { perUnit: 1n, decimals: 6 },
} as const;

/** One kind of thing that a job used. */
export interface BillableUnit {
  /** What was sold, without the model, for example `llm-output-mtoken`. */
  sku: string;
  /** Path of its price in the price list (see `priceAt`), or a price that is the same for every model. */
  price: string | Price;
  measure: keyof typeof measures;
  /** A whole number, in the measure. */
  count: number;
}

/** One position of a charge, as the ledger and the caller's usage history show it. */
export interface ChargeLine {
  /** In units of the price: millions of tokens for text. */
  sku: string;
  /** Negative for a charge. */
  units: string;
  unitPriceNano: NanoUsd;
  amountNano: NanoUsd;
}

/** The positions of a charge, each rounded half up to the nano. Units without a price are free and have no position. */
export function chargeLines(modelId: string, units: readonly BillableUnit[], pricing: Pricing | null): ChargeLine[] {
  return units.flatMap(({ sku, price: stated, measure, count }) => {
    const price = typeof stated === 'string' ? priceAt(pricing, stated) : stated;
    if (price === null) return [];
    const { perUnit, decimals } = measures[measure];
    const unitPriceNano = nanosOf(price.usd);
    return {
      sku: `${modelId}-${sku}`,
      units: formatNanos((BigInt(count) * nanosPerUsd) / perUnit, decimals),
      unitPriceNano,
      amountNano: (BigInt(count) * unitPriceNano + perUnit / 2n) / perUnit,
    };
  });
}

/** The price of units: the sum of their positions. */
export function quoteUnits(units: readonly BillableUnit[], pricing: Pricing | null): NanoUsd {
  return chargeLines('', units, pricing).reduce((sum, { amountNano }) => sum + amountNano, 0n);
}
