import { type ImageFormat, type Pixels } from './pixels.js';
import { sharp, type Sharp } from './sharp-settings.js';

export interface EncodeOptions {
  format: ImageFormat;
  /** 1 to 100, for JPEG and WebP. Default 90. */
  quality?: number;
  /** WebP without loss. Default false; PNG always is. */
  lossless?: boolean;
  /** Members of EXIF's IFD0, such as `ImageDescription` and `Software`; none by default: a picture tells nothing of its making. */
  exif?: Readonly<Record<string, string>>;
}

/** Encodes pixels. JPEG knows no alpha: it gets white behind it. */
export async function encodeImage(pixels: Pixels, options: EncodeOptions): Promise<Buffer> {
  const { format, quality = 90, lossless = false, exif } = options;
  const image = fromPixels(pixels);
  if (exif !== undefined) image.withExif({ IFD0: { ...exif } });
  // What models make are photographs and drawings: filters make these a quarter to a half smaller in the same time.
  if (format === 'png') return await image.png({ compressionLevel: 3, adaptiveFiltering: true }).toBuffer();
  if (format === 'webp') return await image.webp({ quality, lossless }).toBuffer();
  return await image.flatten({ background: '#ffffff' }).jpeg({ quality }).toBuffer();
}

/** Pixels as the library's picture. */
export function fromPixels({ data, width, height, channels }: Pixels): Sharp {
  return sharp(data, { raw: { width, height, channels }, limitInputPixels: false });
}
