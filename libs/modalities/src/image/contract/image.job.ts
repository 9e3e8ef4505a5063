import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsNumber,
  IsObject,
  IsString,
  Max,
  Min,
} from '#platform/validation';
import { defineJob } from '#queue';

export const imageOperations = ['generate', 'edit', 'upscale', 'remove-background'] as const;
export type ImageOperation = (typeof imageOperations)[number];

export const imageFormats = ['jpeg', 'png', 'webp'] as const;
export type ImageFormat = (typeof imageFormats)[number];

/** Most pictures of one request. */
export const maxVariants = 4;

/** Most pixels of a picture that is given, on any route (contract 5.5). */
export const maxImagePixels = 33_177_600;

/** What is to be done with pictures, as the worker sees it; the pictures lie in the storage. */
export class ImageJobPayload {
  @IsIn(imageOperations) operation!: ImageOperation;

  /** Artifacts: the picture to work on, then masks or layers. */
  @IsArray() @ArrayMaxSize(16) @IsString({ each: true }) inputs!: string[];

  @IsString() prompt!: string;
  @IsString() negativePrompt!: string;

  /** Of the result, in pixels; 0 where the operation decides. */
  @IsInt() @Min(0) @Max(8192) width!: number;
  @IsInt() @Min(0) @Max(8192) height!: number;

  @IsInt() @Min(1) @Max(1000) steps!: number;
  /** How strictly the prompt is followed; 1 and less: without comparison. */
  @IsNumber() @Min(0) @Max(20) guidance!: number;
  /** How much of a given picture is made anew. */
  @IsNumber() @Min(0) @Max(1) strength!: number;
  @IsIn([2, 4]) scale!: 2 | 4;

  /** One picture is made of each. */
  @IsArray() @ArrayMaxSize(maxVariants) @IsInt({ each: true }) seeds!: number[];

  @IsIn(imageFormats) format!: ImageFormat;

  /** Adult pictures leave blurred. */
  @IsBoolean() safeMode!: boolean;

  /** Write how a picture was made into it. */
  @IsBoolean() withExif!: boolean;

  /** Price of each picture, by its place in the price list; see `image.meter.ts`. */
  @IsString() priceOfImage!: string;

  /** What else is used by a request that makes at least one picture, by price and count. */
  @IsObject() extraUnits!: Record<string, number>;
}

/** A payload in which nothing is wished for yet. */
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

/** What a job leaves behind in its outcome. */
export class ImageJobResult {
  @IsInt() @Min(0) images!: number;
}

/** A worker that is lost takes no picture along: another one begins anew. */
export const imageJob = defineJob({
  modality: 'image',
  payload: ImageJobPayload,
  result: ImageJobResult,
  policy: { attempts: 1, lockMs: 10_000, deadlineMs: 600_000, stalledMax: 1, concurrency: 4 },
});
