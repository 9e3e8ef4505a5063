import { Injectable } from '@nestjs/common';
import { PlatformError } from '#common';
import { invalidField, MediaArtifacts, type MediaInputReader, type ModelRequest } from '#gateway';
import { encodeImage, isDataUrl, sampleFrames } from '#media';
import type { ArtifactRecord } from '#storage';
import type { ChatPart, ChatVideoPart } from '../../contract/chat.message.js';
import type { ShownVideoPart, StoredFrame } from '../job/prepared-parts.js';

/** Maximum length of one video, in seconds. */
export const maxVideoSeconds = 1_800;
/** Maximum number of videos in one request. */
export const maxVideos = 3;
const maxBytes = 200 * 1024 * 1024;
const timeoutMs = 120_000;
/** Inputs expire a while after the job's deadline in case no process deletes them. */
const lifetimeMs = 2_400_000;
const maxFrameBytes = 26_214_400;
const minSide = 64;

/** Stores videos of chats and takes frames from them. */
@Injectable()
export class ChatVideos {
  constructor(private readonly artifacts: MediaArtifacts) {}

  /** A reader of the videos of one request; what it stores is deleted when the request ends. */
  of({ http, manifest }: ModelRequest): RequestVideos {
    return new RequestVideos(this.artifacts.inputsOf(http, manifest.id, lifetimeMs));
  }
}

export class RequestVideos {
  constructor(private readonly reader: MediaInputReader) {}

  /** Rejects with `INVALID_REQUEST` for what is no URL, and as `MediaInputReader.file` does. */
  async store(part: ChatVideoPart, param: string): Promise<ArtifactRecord> {
    const field = fieldOf(param);
    const { url } = part.video_url;
    if (!isDataUrl(url) && !/^https?:/i.test(url)) {
      throw invalidField(`${field} must be an http(s) or data URL.`, field);
    }
    return await this.reader.file(url, {
      param: field,
      maxBytes,
      timeoutMs,
      contentTypes: ['video/*'],
      maxRedirects: 0,
    });
  }

  /** Stores up to `count` frames. Rejects with `INVALID_VIDEO_FORMAT` and `PAYLOAD_TOO_LARGE`, naming the field. */
  async frames(
    video: ArtifactRecord,
    { count, maxSide, param }: { count: number; maxSide: number; param: string },
  ): Promise<StoredFrame[]> {
    const { reader } = this;
    const limits = { maxSeconds: maxVideoSeconds };
    const options = { count, maxSide, minSide, limits, signal: reader.disconnected };
    const sampled = await reader
      .withFile(video.id, (path) => sampleFrames(reader.tools, { path }, options))
      .catch((error: unknown) => {
        throw named(error, fieldOf(param));
      });
    const frames: StoredFrame[] = [];
    for (const { seconds, ...pixels } of sampled) {
      const bytes = await encodeImage({ ...pixels, channels: 3 }, { format: 'png' });
      const { id: artifactId, sha256 } = await reader.store(bytes, { maxBytes: maxFrameBytes });
      frames.push({ seconds, artifactId, sha256 });
    }
    return frames;
  }
}

export function isShownVideo(part: ChatPart): part is ShownVideoPart {
  return part.type === 'video_url' && 'shown' in part;
}

function fieldOf(param: string): string {
  return `${param}.video_url.url`;
}

function named(error: unknown, param: string): unknown {
  if (!(error instanceof PlatformError)) return error;
  const { code, message } = error;
  const known = code === 'VIDEO_DURATION_TOO_LONG' ? 'PAYLOAD_TOO_LARGE' : code;
  if (known !== 'PAYLOAD_TOO_LARGE' && known !== 'INVALID_VIDEO_FORMAT') return error;
  return new PlatformError(known, message, param, { cause: error });
}
