import type { Egress } from '#egress';
import { PlatformError } from '#common';
import {
  decodeInline,
  isDataUrl,
  type MediaTools,
  type ImageHeader,
  probeVideo,
  readImageHeader,
  type VideoProbe,
} from '#media';
import { type ArtifactContent, type ArtifactStore, discard } from '#storage';

/** A picture in the storage. */
export interface TakenImage {
  artifactId: string;
  header: ImageHeader;
}

/** A video in the storage. */
export interface TakenVideo {
  artifactId: string;
  probe: VideoProbe;
}

const maxImageBytes = 25 * 1024 * 1024;
/** A data URL is bounded by its body; what we fetch may be larger. */
const maxVideoBytes = 512 * 1024 * 1024;
/** How long after the deadline of its job a thing is kept, in ms, should nobody be left to delete it. */
const marginMs = 600_000;
const imageTimeoutMs = 30_000;
const videoTimeoutMs = 180_000;
const maxFps = 120;

/** Puts what a video is made of where the worker finds it, once its header shows what it is. */
export class VideoInputReader {
  private readonly taken: string[] = [];

  constructor(
    private readonly parts: { artifacts: ArtifactStore; egress: Egress; media: MediaTools },
    private readonly options: { disconnected: AbortSignal; deadlineMs: number },
  ) {}

  get artifactIds(): readonly string[] {
    return this.taken;
  }

  /** A URL or a data URL. Rejects with what is wrong with the picture, by its field. */
  async takeImage(text: string, param: string): Promise<TakenImage> {
    const limits = { maxBytes: maxImageBytes, param };
    const bytes = isDataUrl(text)
      ? decodeInline(text, limits).bytes
      : (
          await this.parts.egress.read({
            url: text,
            ...limits,
            timeoutMs: imageTimeoutMs,
            signal: this.options.disconnected,
          })
        ).bytes;
    const header = await readImageHeader(bytes, limits);
    return { artifactId: await this.store(bytes), header };
  }

  /**
   * A URL or a data URL. Rejects with `INVALID_VIDEO_FORMAT`, `VIDEO_DURATION_TOO_LONG`, `PAYLOAD_TOO_LARGE`, and
   * `SERVICE_UNAVAILABLE` where videos cannot be read.
   */
  async takeVideo(text: string, param: string, maxSeconds: number): Promise<TakenVideo> {
    const { artifacts, egress, media } = this.parts;
    media.require();
    const limits = { maxBytes: maxVideoBytes, param };
    const content = isDataUrl(text)
      ? decodeInline(text, limits).bytes
      : (await egress.open({ url: text, ...limits, timeoutMs: videoTimeoutMs, signal: this.options.disconnected }))
          .body;
    const artifactId = await this.store(content);
    try {
      const options = { maxSeconds, maxFps: maxFps, signal: this.options.disconnected };
      return {
        artifactId,
        probe: await artifacts.withFile(artifactId, (path) => probeVideo(media, { path }, options)),
      };
    } catch (error) {
      if (!(error instanceof PlatformError) || error.param !== null) throw error;
      throw new PlatformError(error.code, error.message, param, { cause: error });
    }
  }

  /** The job has them now. */
  handOver(): void {
    this.taken.length = 0;
  }

  /** Deletes what no job has taken over. */
  async release(): Promise<void> {
    await discard(this.parts.artifacts, this.taken.splice(0));
  }

  private async store(content: ArtifactContent): Promise<string> {
    const options = {
      kind: 'input',
      contentType: 'application/octet-stream',
      lifetimeMs: this.options.deadlineMs + marginMs,
      maxBytes: maxVideoBytes,
      signal: this.options.disconnected,
    } as const;
    const { id } = await this.parts.artifacts.put(content, options);
    this.taken.push(id);
    return id;
  }
}
