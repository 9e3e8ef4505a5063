import { Type } from 'class-transformer';
import {
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsNumber,
  IsOptional,
  IsString,
  Min,
  ValidateNested,
} from '#platform/validation';
import type { ModelType } from './manifest.js';
import { IsNested } from './nested.validator.js';

const qualities = ['low', 'medium', 'high'];

export class DefaultNumberSchema {
  @IsNumber() default: number;
}

export class TextConstraintsSchema {
  @IsNested(DefaultNumberSchema) temperature: DefaultNumberSchema;
  @IsNested(DefaultNumberSchema) top_p: DefaultNumberSchema;
  @IsOptional() @ValidateNested() @Type(() => DefaultNumberSchema) frequency_penalty?: DefaultNumberSchema;
  @IsOptional() @ValidateNested() @Type(() => DefaultNumberSchema) presence_penalty?: DefaultNumberSchema;
  @IsOptional() @ValidateNested() @Type(() => DefaultNumberSchema) repetition_penalty?: DefaultNumberSchema;
}

export class StepsSchema {
  @IsInt() @Min(1) default: number;
  @IsInt() @Min(1) max: number;
}

export class ImageConstraintsSchema {
  @IsInt() @Min(1) promptCharacterLimit: number;
  @IsNested(StepsSchema) steps: StepsSchema;
  @IsInt() @Min(1) widthHeightDivisor: number;
  @IsOptional() @IsArray() @IsString({ each: true }) aspectRatios?: string[];
  @IsOptional() @IsString() defaultAspectRatio?: string;
  @IsOptional() @IsArray() @IsString({ each: true }) resolutions?: string[];
  @IsOptional() @IsString() defaultResolution?: string;
  @IsOptional() @IsArray() @IsIn(qualities, { each: true }) qualities?: string[];
  @IsOptional() @IsIn(qualities) defaultQuality?: string;
  @IsOptional() @IsInt() @Min(0) maxStyleReferences?: number;
  @IsOptional() @IsBoolean() supportsStyleReferenceStrength?: boolean;
}

export class VideoConstraintsSchema {
  @IsArray() @IsString({ each: true }) aspect_ratios: string[];
  @IsArray() @IsString({ each: true }) resolutions: string[];
  @IsArray() @IsString({ each: true }) durations: string[];
  @IsIn(['image-to-video', 'text-to-video', 'video']) model_type: string;
  @IsBoolean() audio: boolean;
  @IsBoolean() audio_configurable: boolean;
  @IsOptional() @IsInt() @Min(1) prompt_character_limit?: number;
}

export class InpaintConstraintsSchema {
  @IsArray() @IsString({ each: true }) aspectRatios: string[];
  @IsInt() @Min(1) promptCharacterLimit: number;
  @IsBoolean() combineImages: boolean;
  @IsOptional() @IsInt() @Min(1) maxInputImages?: number;
  @IsOptional() @IsBoolean() singleImageAspectRatio?: boolean;
  @IsOptional() @IsString() defaultResolution?: string;
  @IsOptional() @IsArray() @IsString({ each: true }) resolutions?: string[];
  @IsOptional() @IsIn(qualities) defaultQuality?: string;
  @IsOptional() @IsArray() @IsIn(qualities, { each: true }) qualities?: string[];
}

/** For kinds without constraints in the API: an object without members. */
export class NoConstraintsSchema {}

const constraintsByType: Partial<Record<ModelType, new () => object>> = {
  text: TextConstraintsSchema,
  image: ImageConstraintsSchema,
  video: VideoConstraintsSchema,
  inpaint: InpaintConstraintsSchema,
};

export function constraintsSchemaOf(type: ModelType): new () => object {
  return constraintsByType[type] ?? NoConstraintsSchema;
}
