import { quantizations, reasoningEfforts } from '../manifest/capabilities.schema.js';
import { flag, listOf, number, object, oneOf, recordOf, type Schema, text } from './openapi-schema.js';

/*
 * Nested schemas of `GET /models` for the OpenAPI document. They are data: `manifest/model.presenter.ts` builds an
 * entry, and the manifest classes validate what a manifest may contain.
 */

const quality = oneOf(['low', 'medium', 'high']);
const price = object({ usd: number, diem: number });
const byQuality = recordOf(object({}, { low: price, medium: price, high: price }));
const defaultNumber = object({ default: number });
const effort = oneOf(reasoningEfforts);

export const capabilitiesSchema: Schema = object(
  {
    optimizedForCode: flag,
    quantization: oneOf(quantizations),
    supportsFunctionCalling: flag,
    supportsAudioInput: flag,
    supportsReasoning: flag,
    supportsReasoningEffort: flag,
    supportsResponseSchema: flag,
    supportsMultipleImages: flag,
    supportsVision: flag,
    supportsVideoInput: flag,
    supportsWebSearch: flag,
    supportsLogProbs: flag,
    supportsTeeAttestation: flag,
    supportsE2EE: flag,
    supportsXSearch: flag,
  },
  { reasoningEffortOptions: listOf(effort), defaultReasoningEffort: effort, maxImages: number, maxVideos: number },
  { additionalProperties: false },
);

export const deprecationSchema: Schema = object(
  { autoRemap: flag, date: text, removesAt: text },
  { replacementModelId: text, startsAt: text },
);

const imageConstraints = object(
  { promptCharacterLimit: number, steps: object({ default: number, max: number }), widthHeightDivisor: number },
  {
    aspectRatios: listOf(text),
    defaultAspectRatio: text,
    defaultResolution: text,
    resolutions: listOf(text),
    defaultQuality: quality,
    qualities: listOf(quality),
    maxStyleReferences: number,
    supportsStyleReferenceStrength: flag,
  },
  { title: 'Image Model Constraints' },
);

const textConstraints = object(
  { temperature: defaultNumber, top_p: defaultNumber },
  { frequency_penalty: defaultNumber, presence_penalty: defaultNumber, repetition_penalty: defaultNumber },
  { title: 'Text Model Constraints' },
);

const videoConstraints = object(
  {
    aspect_ratios: listOf(text),
    resolutions: listOf(text),
    durations: listOf(text),
    model_type: oneOf(['image-to-video', 'text-to-video', 'video']),
    audio: flag,
    audio_configurable: flag,
  },
  { prompt_character_limit: number },
  { title: 'Video Model Constraints' },
);

const inpaintConstraints = object(
  { aspectRatios: listOf(text), promptCharacterLimit: number, combineImages: flag },
  {
    maxInputImages: { type: 'integer', minimum: 0, exclusiveMinimum: true },
    singleImageAspectRatio: flag,
    defaultResolution: text,
    resolutions: listOf(text),
    defaultQuality: quality,
    qualities: listOf(quality),
  },
  { title: 'Inpaint Model Constraints' },
);

export const constraintsSchemas: Schema[] = [imageConstraints, textConstraints, videoConstraints, inpaintConstraints];

const cachePrices = { cache_input: price, cache_write: price };

const textPricing = object(
  { input: price, output: price },
  {
    ...cachePrices,
    extended: object({ context_token_threshold: number, input: price, output: price }, cachePrices),
  },
  { title: 'LLM Model Pricing' },
);

const imagePricing = object(
  { upscale: object({ '2x': price, '4x': price }) },
  { generation: price, resolutions: recordOf(price), quality: byQuality },
  { title: 'Image Model Pricing' },
);

const inpaintPricing = object(
  { inpaint: price },
  {
    resolutions: recordOf(price),
    inputImages: object({ included: number, additional: price }),
    quality: byQuality,
  },
  { title: 'Inpaint Model Pricing' },
);

const durationPrice = object({ usd: number, diem: number, min_seconds: number, max_seconds: number });

export const pricingSchemas: Schema[] = [
  textPricing,
  imagePricing,
  object({ input: price }, {}, { title: 'TTS Model Pricing' }),
  object({ per_audio_second: price }, {}, { title: 'ASR Model Pricing' }),
  inpaintPricing,
  object({ generation: price }),
  object({ durations: recordOf(durationPrice) }),
  object({ per_second: price }),
  object({ per_thousand_characters: price }),
];

export const voiceCloningSchema: Schema = object(
  {
    mode: oneOf(['zero_shot', 'persistent']),
    accepted_formats: listOf(text),
    min_sample_seconds: number,
    retention_days: number,
  },
  {},
  { additionalProperties: false, title: 'TTS Voice Cloning' },
);
