import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsNumber,
  IsObject,
  IsOptional,
  IsString,
  Max,
  Min,
  ValidateNested,
} from '#platform/validation';
import { defineJob } from '#queue';

export const imageOperations = ['generate', 'edit', 'upscale', 'remove-background', 'describe', 'classify'] as const;
export type ImageOperation = (typeof imageOperations)[number];

export const imageFormats = ['jpeg', 'png', 'webp'] as const;
export type ImageFormat = (typeof imageFormats)[number];

/** Maximum number of images per request. */
export const maxVariants = 4;

/** Maximum number of pixels of an input image, on any route. */
export const maxImagePixels = 33_177_600;

export const maskKinds = ['white', 'transparent'] as const;
export type MaskKind = (typeof maskKinds)[number];

/** An image as a model of one size draws it. */
export class DrawnImage {
  @IsInt() @Min(1) @Max(8192) width!: number;
  @IsInt() @Min(1) @Max(8192) height!: number;
  @IsString() upscaler!: string;
}

/** An image job as the worker sees it; the input images are stored artifacts. */
export class ImageJobPayload {
  @IsIn(imageOperations) operation!: ImageOperation;

  /** Artifacts: the image to work on, then masks or layers. */
  @IsArray() @ArrayMaxSize(16) @IsString({ each: true }) inputs!: string[];

  @IsString() prompt!: string;
  @IsString() negativePrompt!: string;

  /** Size of the result, in pixels; 0 where the operation decides. */
  @IsInt() @Min(0) @Max(8192) width!: number;
  @IsInt() @Min(0) @Max(8192) height!: number;

  @IsInt() @Min(1) @Max(1000) steps!: number;
  /** Guidance scale; 1 and less: no guidance. */
  @IsNumber() @Min(0) @Max(20) guidance!: number;
  /** Strength: how much of an input image is regenerated. */
  @IsNumber() @Min(0) @Max(1) strength!: number;
  @IsIn([2, 4]) scale!: 2 | 4;

  /** One image is generated per seed. */
  @IsArray() @ArrayMaxSize(maxVariants) @IsInt({ each: true }) seeds!: number[];

  @IsIn(imageFormats) format!: ImageFormat;

  /** Blur adult content. */
  @IsBoolean() safeMode!: boolean;

  /** Embed the generation parameters in the image. */
  @IsBoolean() withExif!: boolean;

  /** The price of each image, by its position in the price list; see `image.meter.ts`. */
  @IsString() priceOfImage!: string;

  /** Additional units of a request that produces at least one image, by price and count. */
  @IsObject() extraUnits!: Record<string, number>;

  /** Additional units of each image, by price and count. Absent from apis before 0.1. */
  @IsOptional() @IsObject() unitsPerImage?: Record<string, number>;

  /**
   * For models that draw one size: that size, and the model that upscales the image to `width` by `height`. Absent for
   * all others.
   */
  @IsOptional() @ValidateNested() @Type(() => DrawnImage) drawn?: DrawnImage;

  /** What a second input shows: white where the image is regenerated (default), or transparent there. */
  @IsOptional() @IsIn(maskKinds) mask?: MaskKind;
}

/** A payload with all options at their defaults. */
export function plainImage(operation: ImageOperation, inputs: string[], seed: number): ImageJobPayload {
  return {
    operation,
    inputs,
    prompt: '',
    negativePrompt: '',
    width: 0,
    height: 0,
    steps: 1,
    guidance: 0,
    strength: 1,
    scale: 2,
    seeds: [seed],
    format: 'png',
    safeMode: false,
    withExif: false,
    priceOfImage: 'inpaint',
    extraUnits: {},
  };
}

/** The result of an image job. */
export class ImageJobResult {
  @IsInt() @Min(0) images!: number;
}

/** A lost worker does not lose the images: another worker starts again. */
export const imageJob = defineJob({
  modality: 'image',
  payload: ImageJobPayload,
  result: ImageJobResult,
  policy: { attempts: 1, lockMs: 10_000, deadlineMs: 600_000, stalledMax: 1, concurrency: 4 },
});
