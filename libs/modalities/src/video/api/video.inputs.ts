import { PlatformError } from '#common';
import type { MediaInputReader, StoredImage } from '#gateway';
import { probeVideo, type VideoProbe } from '#media';

const imageLimits = { maxBytes: 25 * 1024 * 1024, timeoutMs: 30_000 };
/** The body limit applies to data URLs; a fetched video may be larger. */
const videoLimits = { maxBytes: 512 * 1024 * 1024, timeoutMs: 180_000 };
const maxFps = 120;

/** Reads the image at a URL or in a data URL. Rejects with what is wrong with it, naming the field. */
export async function readFrame(reader: MediaInputReader, url: string, param: string): Promise<StoredImage> {
  return await reader.image(url, { ...imageLimits, param });
}

/**
 * Reads the video at a URL or in a data URL. Rejects with `INVALID_VIDEO_FORMAT`, `VIDEO_DURATION_TOO_LONG`,
 * `PAYLOAD_TOO_LARGE`, and `SERVICE_UNAVAILABLE` if the tools for videos are missing.
 */
export async function readVideo(
  reader: MediaInputReader,
  url: string,
  maxSeconds: number,
): Promise<{ artifactId: string; probe: VideoProbe }> {
  const param = 'video_url';
  await reader.tools.require();
  const { id: artifactId } = await reader.file(url, { ...videoLimits, param });
  try {
    const options = { maxSeconds, maxFps, signal: reader.disconnected };
    return {
      artifactId,
      probe: await reader.withFile(artifactId, (path) => probeVideo(reader.tools, { path }, options)),
    };
  } catch (error) {
    if (!(error instanceof PlatformError) || error.param !== null) throw error;
    throw new PlatformError(error.code, error.message, param, { cause: error });
  }
}
