import { Type } from 'class-transformer';
import {
  ArrayNotEmpty,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsNotEmpty,
  IsNumber,
  IsObject,
  IsOptional,
  IsString,
  Min,
  ValidateNested,
} from '#platform/validation';
import type { ModelType } from './manifest.js';

/* Members of `model_spec` that only one kind of model has. */

export class EmbeddingMembersSchema {
  @IsInt() @Min(1) embeddingDimensions: number;
  @IsInt() @Min(1) maxInputTokens: number;
  @IsBoolean() supportsCustomDimensions: boolean;
  /** The only lengths that vectors may be truncated to, where the authors list them. */
  @IsOptional()
  @IsArray()
  @ArrayNotEmpty()
  @IsInt({ each: true })
  @Min(1, { each: true })
  matryoshkaDimensions?: number[];
}

export class RerankMembersSchema {
  /** Longest pair of query and document. */
  @IsInt() @Min(1) maxInputTokens: number;
}

export class VoiceCloningSchema {
  @IsIn(['zero_shot', 'persistent']) mode: string;
  @IsArray() @IsString({ each: true }) accepted_formats: string[];
  @IsNumber() @Min(0) min_sample_seconds: number;
  @IsInt() @Min(0) retention_days: number;
}

export class SpeechMembersSchema {
  @IsOptional() @IsArray() @IsString({ each: true }) voices?: string[];
  @IsOptional() @ValidateNested() @Type(() => VoiceCloningSchema) voice_cloning?: VoiceCloningSchema;
  @IsOptional() @IsBoolean() supports_custom_voice_id?: boolean;
  @IsOptional() @IsArray() @IsString({ each: true }) supported_formats?: string[];
  @IsOptional() @IsString() default_format?: string;
  /** Sample rate of `pcm`, which has no header. */
  @IsOptional() @IsInt() @Min(8_000) pcm_sample_rate?: number;
  /** Maximum length of long texts (`/audio/queue`), in characters. */
  @IsOptional() @IsInt() @Min(1) prompt_character_limit?: number;
}

export class MusicMembersSchema {
  @IsOptional() @IsBoolean() supports_lyrics?: boolean;
  @IsOptional() @IsBoolean() lyrics_required?: boolean;
  @IsOptional() @IsBoolean() supports_force_instrumental?: boolean;
  @IsOptional() @IsBoolean() supports_loop?: boolean;
  @IsOptional() @IsArray() @IsString({ each: true }) voices?: string[];
  @IsOptional() @IsString() default_voice?: string;
  @IsOptional() @IsBoolean() supports_language_code?: boolean;
  @IsOptional() @IsBoolean() supports_speed?: boolean;
  @IsOptional() @IsNumber() default_speed?: number;
  @IsOptional() @IsNumber() min_speed?: number;
  @IsOptional() @IsNumber() max_speed?: number;
  @IsOptional() @IsArray() @IsNumber({}, { each: true }) duration_options?: number[];
  @IsOptional() @IsNumber() min_duration?: number;
  @IsOptional() @IsNumber() max_duration?: number;
  @IsOptional() @IsNumber() default_duration?: number;
  @IsOptional() @IsArray() @IsString({ each: true }) supported_formats?: string[];
  @IsOptional() @IsString() default_format?: string;
  @IsOptional() @IsInt() @Min(1) prompt_character_limit?: number;
  @IsOptional() @IsInt() @Min(0) min_prompt_length?: number;
  @IsOptional() @IsInt() @Min(1) lyrics_character_limit?: number;
}

export class ImageUpscalingSchema {
  /** Longer side of the images that the model draws, in pixels. */
  @IsInt() @Min(64) nativeSide: number;
  /** Id of the model that upscales them; it is served on the same worker. */
  @IsString() @IsNotEmpty() model: string;
}

export class ImageMembersSchema {
  @IsOptional() @IsBoolean() supportsStyleReferences?: boolean;
  /** Other sizes are reached by upscaling. */
  @IsOptional() @ValidateNested() @Type(() => ImageUpscalingSchema) upscaling?: ImageUpscalingSchema;
  /** What the styles that the model knows add to a prompt, by name; other styles are rejected. */
  @IsOptional() @IsObject() stylePresets?: Record<string, string>;
}

/** Consents that a client must confirm before it can use such a model. */
export class VideoConsentSchema {
  @IsIn(['seedance']) flow: string;
  @IsString() @IsNotEmpty() consent_version: string;
  @IsString() @IsNotEmpty() policy_text: string;
  @IsString() @IsNotEmpty() docs_url: string;
}

export class VideoMembersSchema {
  /** Additional fields of `/video/queue` for this model; other fields are rejected. */
  @IsArray() @ArrayNotEmpty() @IsString({ each: true }) supported_inputs: string[];
  /** Upscaling factors, the default first. */
  @IsOptional() @IsArray() @IsIn([1, 2, 4], { each: true }) upscale_factors?: number[];
  /** Selectable frame rates, the default first. */
  @IsOptional() @IsArray() @IsInt({ each: true }) frame_rates?: number[];
  @IsOptional() @IsInt() @Min(1) max_source_seconds?: number;
  /** Results are delivered only by a link from `/video/queue`. */
  @IsOptional() @IsBoolean() private_delivery?: boolean;
  @IsOptional() @ValidateNested() @Type(() => VideoConsentSchema) consent?: VideoConsentSchema;
}

/** For kinds without members of their own. */
export class NoMembersSchema {}

const membersByType: Partial<Record<ModelType, new () => object>> = {
  embedding: EmbeddingMembersSchema,
  rerank: RerankMembersSchema,
  tts: SpeechMembersSchema,
  music: MusicMembersSchema,
  image: ImageMembersSchema,
  inpaint: ImageMembersSchema,
  video: VideoMembersSchema,
};

export function kindMembersSchemaOf(type: ModelType): new () => object {
  return membersByType[type] ?? NoMembersSchema;
}
