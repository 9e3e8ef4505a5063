import type { Price, TextPricing } from '#model-registry/manifest';

/*
 * The shapes a price can have (contract 13), one per kind of model, as they lie in `prices.pricing`. A DIEM is worth a
 * USD: charges are computed once, at the `usd` price, whichever currency pays them.
 */

/** Per million tokens. */
export interface EmbeddingPricing {
  input: Price;
  output: Price;
}

export interface QualityPrices {
  low?: Price;
  medium?: Price;
  high?: Price;
}

/** Per image: one price, or by resolution, or by resolution and quality; upscaling by factor. */
export interface ImagePricing {
  generation?: Price;
  resolutions?: Record<string, Price>;
  quality?: Record<string, QualityPrices>;
  upscale: Record<'2x' | '4x', Price>;
}

/** Per edited image, and per input image beyond the included ones. */
export interface InpaintPricing {
  inpaint: Price;
  resolutions?: Record<string, Price>;
  quality?: Record<string, QualityPrices>;
  inputImages?: { included: number; additional: Price };
}

/** Per million characters. */
export interface SpeechPricing {
  input: Price;
}

/** Per second of audio. */
export interface TranscriptionPricing {
  per_audio_second: Price;
}

/** Exactly one of the four: per song, by duration tier, per second, per thousand characters. */
export interface MusicPricing {
  generation?: Price;
  durations?: Record<string, Price & { min_seconds: number; max_seconds: number }>;
  per_second?: Price;
  per_thousand_characters?: Price;
}

/** Per second of video: made, by resolution where that has a price of its own, or upscaled, by factor (`2x`). */
export interface VideoPricing {
  per_second?: Price;
  resolutions?: Record<string, Price>;
  upscale?: Record<string, Price>;
}

export type Pricing =
  | TextPricing
  | EmbeddingPricing
  | ImagePricing
  | InpaintPricing
  | SpeechPricing
  | TranscriptionPricing
  | MusicPricing
  | VideoPricing;

/** A dated price of a model. */
export interface ModelPrice {
  id: bigint;
  modelId: string;
  /** Null: the model is free. */
  pricing: Pricing | null;
}
