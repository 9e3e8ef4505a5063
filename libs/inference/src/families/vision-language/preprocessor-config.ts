import { join } from 'node:path';
import { PlatformError } from '#common';
import type { RgbPixels } from '../../images/pixel-grid.js';
import { planesOf, wholeArea } from '../../images/pixel-grid.js';
import type { ResampleFilter } from '../../images/resample.js';
import { readJsonIfPresent } from '../../text/index.js';

/** Members of preprocessor_config.json and processor_config.json that are read here. */
export interface PreprocessorFile {
  size?: Record<string, number> | number;
  do_center_crop?: boolean;
  crop_size?: Record<string, number> | number;
  max_image_size?: Record<string, number>;
  do_image_splitting?: boolean;
  do_pan_and_scan?: boolean | null;
  pan_and_scan_min_crop_size?: number | null;
  pan_and_scan_max_num_crops?: number | null;
  pan_and_scan_min_ratio_to_activate?: number | null;
  resample?: number;
  image_mean?: number[];
  image_std?: number[];
  rescale_factor?: number;
  image_seq_len?: number;
  image_seq_length?: number;
  patch_size?: number;
  temporal_patch_size?: number;
  merge_size?: number;
  min_pixels?: number;
  max_pixels?: number;
  num_additional_image_tokens?: number;
  vision_feature_select_strategy?: string;
  /** In processor_config.json of later libraries, in place of a file of its own. */
  image_processor?: PreprocessorFile;
}

/** Members of config.json that are read here. */
export interface VisionLanguageConfig {
  model_type?: string;
  image_token_id?: number;
  image_token_index?: number;
  scale_factor?: number;
  vision_feature_select_strategy?: string;
  /** Heights and widths of an image in tiles. */
  image_grid_pinpoints?: number[][];
  vision_config?: VisionConfig;
  text_config?: TextConfig;
}

export interface VisionConfig {
  image_size?: number;
  patch_size?: number;
  spatial_merge_size?: number;
  /** Rows of the learned table of places, which is a square. */
  num_position_embeddings?: number;
  /** Tokens of an image, where all images have as many. */
  tokens?: number;
  /** Side of a window in pixels. */
  window_size?: number;
}

/** Older files name the members of the language model beside the others. */
export function textConfigOf(config: VisionLanguageConfig): TextConfig {
  return config.text_config ?? (config as TextConfig);
}

export interface TextConfig {
  num_key_value_heads?: number;
  num_attention_heads?: number;
  hidden_size?: number;
  head_dim?: number;
  vocab_size?: number;
  max_position_embeddings?: number;
}

/** Reads both files; the processor's wins, as in transformers. */
export async function loadPreprocessor(directory: string): Promise<PreprocessorFile> {
  const [images, processor] = await Promise.all([
    readJsonIfPresent<PreprocessorFile>(join(directory, 'preprocessor_config.json')),
    readJsonIfPresent<PreprocessorFile>(join(directory, 'processor_config.json')),
  ]);
  if (images === null && processor?.image_processor === undefined) throw unfit('it has no preprocessor_config.json');
  return { ...images, ...processor?.image_processor, ...processor };
}

export function unfit(reason: string): PlatformError {
  return new PlatformError(
    'INVALID_MODEL',
    `The model's files are not a vision-language model that this engine supports: ${reason}.`,
  );
}

/** Returns a size member that has several spellings. */
export function sideOf(size: PreprocessorFile['size'], name: string): number | undefined {
  return typeof size === 'number' ? size : size?.[name];
}

/** Numbers of Pillow's filters. */
const filters: Partial<Record<number, ResampleFilter>> = { 1: 'lanczos', 2: 'bilinear', 3: 'bicubic' };

export function filterOf({ resample }: PreprocessorFile, defaultFilter: ResampleFilter): ResampleFilter {
  if (resample === undefined) return defaultFilter;
  const filter = filters[resample];
  if (filter === undefined) throw unfit(`its preprocessor_config.json names the filter ${resample}`);
  return filter;
}

/** Maps samples to the values a vision encoder was trained on: scaled to 1, less the mean, over the deviation. */
export class Normalizer {
  private readonly mean: number[];
  private readonly deviation: number[];
  private readonly factor: number;

  constructor({ image_mean: mean, image_std: deviation, rescale_factor: factor }: PreprocessorFile, defaults: Normals) {
    this.mean = (mean ?? defaults.mean).map(Math.fround);
    this.deviation = (deviation ?? defaults.deviation).map(Math.fround);
    this.factor = factor ?? 1 / 255;
  }

  /** Returns planes `[3, height, width]`, rounded at every step as float32 arithmetic does. */
  planes(pixels: RgbPixels, area = wholeArea(pixels)): Float32Array {
    return planesOf(pixels, area, (sample, channel) => {
      const centered = Math.fround(Math.fround(sample * this.factor) - (this.mean[channel] ?? 0));
      return Math.fround(centered / (this.deviation[channel] ?? 1));
    });
  }
}

export interface Normals {
  mean: number[];
  deviation: number[];
}

export const halfNormals: Normals = { mean: [0.5, 0.5, 0.5], deviation: [0.5, 0.5, 0.5] };

/** Statistics of the images that CLIP was trained on. */
export const clipNormals: Normals = {
  mean: [0.48145466, 0.4578275, 0.40821073],
  deviation: [0.26862954, 0.26130258, 0.27577711],
};
