import type { PixelArea } from '../../images/pixel-grid.js';
import type { PreprocessorFile } from './preprocessor-config.js';

/** When an image is shown a second time as crops along its longer side. */
export interface PanAndScan {
  /** Smallest side of a crop, in pixels. */
  minCropSide: number;
  maxCrops: number;
  /** Longer side over the shorter one from which an image has crops. */
  minRatio: number;
}

/** Null if the files do not ask for crops; members that are not set have the defaults of transformers. */
export function panAndScanOf(file: PreprocessorFile): PanAndScan | null {
  if (file.do_pan_and_scan !== true) return null;
  return {
    minCropSide: file.pan_and_scan_min_crop_size ?? 256,
    maxCrops: file.pan_and_scan_max_num_crops ?? 4,
    minRatio: file.pan_and_scan_min_ratio_to_activate ?? 1.2,
  };
}

/**
 * Returns the crops of an image, from its start to its end; none if it is nearly square, or too small.
 *
 * Source: `Gemma3ImageProcessor.pan_and_scan` of transformers 5.23.
 */
export function cropsOf(size: { width: number; height: number }, settings: PanAndScan): PixelArea[] {
  const long = Math.max(size.width, size.height);
  const short = Math.min(size.width, size.height);
  if (long / short < settings.minRatio) return [];
  const wanted = Math.min(Math.floor(long / short + 0.5), Math.floor(long / settings.minCropSide));
  const count = Math.min(settings.maxCrops, Math.max(2, wanted));
  const side = Math.ceil(long / count);
  if (Math.min(side, short) < settings.minCropSide) return [];
  const starts = Array.from({ length: count }, (_, index) => index * side).filter((start) => start < long);
  const isWide = size.width >= size.height;
  return starts.map((start) => {
    const length = Math.min(side, long - start);
    return isWide
      ? { left: start, top: 0, width: length, height: short }
      : { left: 0, top: start, width: short, height: length };
  });
}
