import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsObject,
  IsOptional,
  IsString,
  Max,
  Min,
  MinLength,
  ValidateNested,
} from '#platform/validation';
import { defineJob } from '#queue';

/**
 * `between`: the frames between given images. `double-rate`: a frame between each two of a video. `upscale`: every
 * frame of a video, enlarged. `from-words`: text to video.
 */
export const videoOperations = ['between', 'double-rate', 'upscale', 'from-text'] as const;
export type VideoOperation = (typeof videoOperations)[number];

/** Images of one request: a first, a last and the keyframes. */
export const maxImages = 12;

/** Prompt of a text-to-video job. */
export class TextToVideoOptions {
  @IsString() @MinLength(1) prompt!: string;

  /** Empty: no negative prompt. */
  @IsString() negativePrompt!: string;

  /** The same seed produces the same video. */
  @IsInt() seed!: number;
}

/** A video job as the worker sees it; its inputs are stored artifacts. */
export class VideoJobPayload {
  @IsIn(videoOperations) operation!: VideoOperation;

  /** Artifacts: the images in the order of their frames, or the one video; none for text to video. */
  @IsArray() @ArrayMaxSize(maxImages) @IsString({ each: true }) inputs!: string[];

  /** `between`: the frame index of each image, from 0, ascending. */
  @IsArray() @IsInt({ each: true }) @Min(0, { each: true }) places!: number[];

  /** `between` and `from-words`: size, frame rate and count of the generated frames. 0 where the video decides. */
  @IsInt() @Min(0) @Max(8_192) width!: number;
  @IsInt() @Min(0) @Max(8_192) height!: number;
  @IsInt() @Min(0) @Max(240) fps!: number;
  @IsInt() @Min(0) @Max(100_000) frames!: number;

  /** `upscale`: the factor. */
  @IsIn([1, 2, 4]) scale!: 1 | 2 | 4;

  /** `from-words`. */
  @IsOptional() @ValidateNested() @Type(() => TextToVideoOptions) words?: TextToVideoOptions | null;

  /** Keep the audio of the video. */
  @IsBoolean() audio!: boolean;

  /** Maximum length of video that is read, in seconds. */
  @IsInt() @Min(0) maxSeconds!: number;

  /** Where the result must be stored, if its link was handed out already. */
  @IsOptional() @IsString() resultId!: string | null;

  /** Units the job uses if it succeeds, named as in `video.meter.ts`. */
  @IsObject() units!: Record<string, number>;
}

/** The result of a video job; the video itself is an artifact. */
export class VideoJobResult {
  @IsInt() @Min(0) frames!: number;
}

/**
 * A lost worker does not lose the job: another worker starts it again, once. The default deadline is half an hour; the
 * api sets `SLUICE_MEDIA_DEADLINE_MS` (docs/decisions/media-deadline.md).
 */
export const videoJob = defineJob({
  modality: 'video',
  payload: VideoJobPayload,
  result: VideoJobResult,
  policy: { attempts: 2, lockMs: 15_000, deadlineMs: 1_800_000, stalledMax: 1, concurrency: 1 },
  isAsync: true,
});
