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
 * `between`: the frames between given pictures. `double-rate`: a frame between each two of a video. `upscale`: every
 * frame of a video, larger. `from-words`: all of it new.
 */
export const videoOperations = ['between', 'double-rate', 'upscale', 'from-words'] as const;
export type VideoOperation = (typeof videoOperations)[number];

/** Pictures of one request: a first, a last and the keyframes. */
export const maxImages = 12;

/** What a video of words is to show. */
export class TextToVideoOptions {
  @IsString() @MinLength(1) prompt!: string;

  /** Empty: nothing in particular is unwanted. */
  @IsString() negativePrompt!: string;

  /** The same one gives the same video. */
  @IsInt() seed!: number;
}

/** A video to be made, as the worker sees it; what it is made of lies in the storage. */
export class VideoJobPayload {
  @IsIn(videoOperations) operation!: VideoOperation;

  /** Artifacts: the pictures in the order of their frames, or the one video; none for words. */
  @IsArray() @ArrayMaxSize(maxImages) @IsString({ each: true }) inputs!: string[];

  /** `between`: which frame each picture is, from 0, rising. */
  @IsArray() @IsInt({ each: true }) @Min(0, { each: true }) places!: number[];

  /** `between` and `from-words`: size, rate and count of the frames to make. 0 where the video decides. */
  @IsInt() @Min(0) @Max(8_192) width!: number;
  @IsInt() @Min(0) @Max(8_192) height!: number;
  @IsInt() @Min(0) @Max(240) fps!: number;
  @IsInt() @Min(0) @Max(100_000) frames!: number;

  /** `upscale`: by how much. */
  @IsIn([1, 2, 4]) scale!: 1 | 2 | 4;

  /** `from-words`. */
  @IsOptional() @ValidateNested() @Type(() => TextToVideoOptions) words?: TextToVideoOptions | null;

  /** Keep the sound of the video. */
  @IsBoolean() audio!: boolean;

  /** Longest video that is read, in seconds. */
  @IsInt() @Min(0) maxSeconds!: number;

  /** Where the result is to lie, if its link was given out already. */
  @IsOptional() @IsString() resultId!: string | null;

  /** What the job uses when it succeeds, by the names of `video.meter.ts`. */
  @IsObject() units!: Record<string, number>;
}

/** What a video leaves behind in its outcome; the video itself is an artifact. */
export class VideoJobResult {
  @IsInt() @Min(0) frames!: number;
}

/**
 * A worker that is lost takes no video along: another one begins anew, once (gap 46). The half hour of gap 43 is what a job
 * gets for which nobody says more; the api says `SLUICE_MEDIA_DEADLINE_MS` (docs/decisions/media-deadline.md).
 */
export const videoJob = defineJob({
  modality: 'video',
  payload: VideoJobPayload,
  result: VideoJobResult,
  policy: { attempts: 2, lockMs: 15_000, deadlineMs: 1_800_000, stalledMax: 1, concurrency: 1 },
  isAsync: true,
});
