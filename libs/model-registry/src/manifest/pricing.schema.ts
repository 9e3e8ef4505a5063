import { Type, plainToInstance } from 'class-transformer';
import {
  IsInt,
  IsNumber,
  IsOptional,
  Min,
  ValidateNested,
  validateSync,
  ValidateBy,
  type ValidationArguments,
} from '#platform/validation';
import type { ModelType } from './manifest.js';
import type { Pricing } from './pricing.js';
import { IsNested } from './nested.validator.js';

/** Leaf of a pricing shape: the same price in both currencies. */
class PriceSchema {
  @IsNumber() @Min(0) usd: number;
  @IsNumber() @Min(0) diem: number;
}

/** Per million tokens; above the threshold these prices apply to the whole request. */
export class ExtendedPricingSchema {
  @IsInt() @Min(1) context_token_threshold: number;
  @IsNested(PriceSchema) input: PriceSchema;
  @IsNested(PriceSchema) output: PriceSchema;
  @IsOptional() @ValidateNested() @Type(() => PriceSchema) cache_input?: PriceSchema;
  @IsOptional() @ValidateNested() @Type(() => PriceSchema) cache_write?: PriceSchema;
}

/** Per million tokens. */
export class TextPricingSchema implements Pricing {
  @IsNested(PriceSchema) input: PriceSchema;
  @IsNested(PriceSchema) output: PriceSchema;
  @IsOptional() @ValidateNested() @Type(() => PriceSchema) cache_input?: PriceSchema;
  @IsOptional() @ValidateNested() @Type(() => PriceSchema) cache_write?: PriceSchema;
  @IsOptional() @ValidateNested() @Type(() => ExtendedPricingSchema) extended?: ExtendedPricingSchema;
}

/** Per million tokens that the model reads. */
export class RerankPricingSchema implements Pricing {
  @IsNested(PriceSchema) input: PriceSchema;
}

export class EmbeddingPricingSchema implements Pricing {
  @IsNested(PriceSchema) input: PriceSchema;
  @IsNested(PriceSchema) output: PriceSchema;
}

export class QualityPricesSchema {
  @IsOptional() @ValidateNested() @Type(() => PriceSchema) low?: PriceSchema;
  @IsOptional() @ValidateNested() @Type(() => PriceSchema) medium?: PriceSchema;
  @IsOptional() @ValidateNested() @Type(() => PriceSchema) high?: PriceSchema;
}

export class UpscalePricesSchema {
  readonly [factor: string]: PriceSchema;
  @IsNested(PriceSchema) '2x': PriceSchema;
  @IsNested(PriceSchema) '4x': PriceSchema;
}

/** Per image: `generation`, or a price per resolution, or one per resolution and quality. */
export class ImagePricingSchema implements Pricing {
  @IsOptional() @ValidateNested() @Type(() => PriceSchema) generation?: PriceSchema;
  @IsOptional() @IsRecordOf(PriceSchema) resolutions?: Record<string, PriceSchema>;
  @IsOptional() @IsRecordOf(QualityPricesSchema) quality?: Record<string, QualityPricesSchema>;
  @IsNested(UpscalePricesSchema) upscale: UpscalePricesSchema;
}

export class InputImagesSchema {
  @IsInt() @Min(0) included: number;
  @IsNested(PriceSchema) additional: PriceSchema;
}

export class InpaintPricingSchema implements Pricing {
  @IsNested(PriceSchema) inpaint: PriceSchema;
  @IsOptional() @IsRecordOf(PriceSchema) resolutions?: Record<string, PriceSchema>;
  @IsOptional() @IsRecordOf(QualityPricesSchema) quality?: Record<string, QualityPricesSchema>;
  @IsOptional() @ValidateNested() @Type(() => InputImagesSchema) inputImages?: InputImagesSchema;
}

/** Per million characters. */
export class SpeechPricingSchema implements Pricing {
  @IsNested(PriceSchema) input: PriceSchema;
}

export class TranscriptionPricingSchema implements Pricing {
  @IsNested(PriceSchema) per_audio_second: PriceSchema;
}

export class DurationPriceSchema extends PriceSchema {
  @IsNumber() @Min(0) min_seconds: number;
  @IsNumber() @Min(0) max_seconds: number;
}

/** Exactly one of the four; checked in `manifest-rules.ts`. */
export class MusicPricingSchema implements Pricing {
  @IsOptional() @ValidateNested() @Type(() => PriceSchema) generation?: PriceSchema;
  @IsOptional() @IsRecordOf(DurationPriceSchema) durations?: Record<string, DurationPriceSchema>;
  @IsOptional() @ValidateNested() @Type(() => PriceSchema) per_second?: PriceSchema;
  @IsOptional() @ValidateNested() @Type(() => PriceSchema) per_thousand_characters?: PriceSchema;
}

/**
 * Per second of generated video, by resolution if named, or of upscaled video, by factor. Not published: clients
 * request a quote.
 */
export class VideoPricingSchema implements Pricing {
  @IsOptional() @ValidateNested() @Type(() => PriceSchema) per_second?: PriceSchema;
  @IsOptional() @IsRecordOf(PriceSchema) resolutions?: Record<string, PriceSchema>;
  @IsOptional() @IsRecordOf(PriceSchema) upscale?: Record<string, PriceSchema>;
}

/** Of models that turn images into text. */
export class ImageAdapterPricingSchema implements Pricing {
  @IsNested(PriceSchema) per_image: PriceSchema;
}

/** For kinds without prices. */
export class NoPricingSchema {}

const pricingByType: Record<ModelType, new () => object> = {
  text: TextPricingSchema,
  embedding: EmbeddingPricingSchema,
  rerank: RerankPricingSchema,
  image: ImagePricingSchema,
  upscale: ImagePricingSchema,
  inpaint: InpaintPricingSchema,
  tts: SpeechPricingSchema,
  asr: TranscriptionPricingSchema,
  music: MusicPricingSchema,
  video: VideoPricingSchema,
};

export function pricingSchemaOf(type: ModelType, { adapts }: { adapts?: unknown } = {}): new () => object {
  if (adapts === 'image') return ImageAdapterPricingSchema;
  return pricingByType[type] ?? NoPricingSchema;
}

/**
 * Validates an object whose every member, under any name, matches `schema`: `{ "2K": { usd: 1, diem: 1 } }`.
 * class-validator supports this only for arrays.
 */
function IsRecordOf(schema: new () => object): PropertyDecorator {
  return ValidateBy({
    name: 'isRecordOf',
    validator: {
      validate: (value: unknown) => findBadMember(value, schema) === null,
      defaultMessage: (args?: ValidationArguments) =>
        `${args?.property ?? 'value'} ${findBadMember(args?.value, schema) ?? 'is not valid'}`,
    },
  });
}

function findBadMember(value: unknown, schema: new () => object): string | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'must be an object';
  for (const [name, member] of Object.entries(value)) {
    if (typeof member !== 'object' || member === null) return `has a member "${name}" that is not an object`;
    const errors = validateSync(plainToInstance(schema, member), { whitelist: true, forbidNonWhitelisted: true });
    const first = errors[0];
    if (first) return `has a member "${name}" whose "${first.property}" is missing or wrong`;
  }
  return null;
}
