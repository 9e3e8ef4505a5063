/** A price in both currencies. A DIEM is worth a USD: charges are computed from `usd`, whichever currency pays them. */
export interface Price {
  usd: number;
  diem: number;
}

/** A price that applies to durations from `min_seconds` to `max_seconds`, both included. */
export interface DurationPrice extends Price {
  min_seconds: number;
  max_seconds: number;
}

/** Per image, by quality. */
export interface QualityPrices {
  low?: Price;
  medium?: Price;
  high?: Price;
}

/** Per million tokens. `cache_input` is the price of prompt tokens that were found in a cached prefix. */
interface TokenPrices {
  input?: Price;
  output?: Price;
  cache_input?: Price;
  cache_write?: Price;
}

/**
 * The price list of a model, as manifests state it and `prices.pricing` stores it. Every kind of model prices some of
 * these members; `pricing.schema.ts` says which kind must have which. A model without a price list is free (null).
 */
export interface Pricing extends TokenPrices {
  /** Of models that read text aloud, `input` is the price of a million characters. */
  input?: Price;
  /** Replaces the token prices of a whole request whose prompt is longer than the threshold. */
  extended?: TokenPrices & { context_token_threshold: number };
  /** Per image or song. */
  generation?: Price;
  /** Per edited image. */
  inpaint?: Price;
  /** Per image, or per second of a generated video. */
  resolutions?: Record<string, Price>;
  /** Per image, by resolution. */
  quality?: Record<string, QualityPrices>;
  /** Per image, or per second of video, by factor (`2x`). */
  upscale?: Record<string, Price>;
  /** Per image that is turned into text. */
  per_image?: Price;
  /** Per input image beyond the included ones. */
  inputImages?: { included: number; additional: Price };
  /** Per second of audio that is transcribed. */
  per_audio_second?: Price;
  /** Per song, by tier of duration. */
  durations?: Record<string, DurationPrice>;
  /** Per second of generated audio or video. */
  per_second?: Price;
  /** Per thousand characters. */
  per_thousand_characters?: Price;
  /** Per request of a service without a model, by what answered it. */
  per_request?: Record<string, Price>;
}

/** `quality.1.5K.high`: the name of a resolution may contain a dot. */
const qualityPath = /^(quality)\.(.+)\.([^.]+)$/;
const memberPath = /^([^.]+)\.(.+)$/;

/** Returns the price at a path such as `generation`, `resolutions.2K` or `quality.1K.high`; null where there is none. */
export function priceAt(pricing: Pricing | null, path: string): Price | null {
  const names = (qualityPath.exec(path) ?? memberPath.exec(path))?.slice(1) ?? [path];
  let found: unknown = pricing;
  for (const name of names) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return null;
    found = (found as Record<string, unknown>)[name];
  }
  return isPrice(found) ? found : null;
}

function isPrice(value: unknown): value is Price {
  return typeof value === 'object' && value !== null && 'usd' in value && typeof value.usd === 'number';
}
