import { Injectable } from '@nestjs/common';
import { invalidField, MediaArtifacts, type MediaInputReader, type ModelRequest, type StoredImage } from '#gateway';
import { isDataUrl } from '#media';
import { builtCapabilities, type ModelManifest } from '#model-registry/manifest';
import { maxImagePixels } from '../../contract/chat.job.js';
import type { ChatImagePart, ChatMessage, ChatPart } from '../../contract/chat.message.js';
import type { ShownVideoPart, StoredImagePart } from '../job/prepared-parts.js';
import { ChatVideos, maxVideos } from './chat-videos.js';
import { findParts, type PartPosition, replaceParts } from './content-parts.js';

type ImagePosition = PartPosition<ChatImagePart>;

const imageType = new Set(['image_url'] as const);
const videoType = new Set(['video_url'] as const);
const minSide = 64;
const maxBytes = 26_214_400;
const timeoutMs = 30_000;
/** Images expire a while after the job's deadline in case no process deletes them. */
const lifetimeMs = 1_200_000;
/** Images per request of models whose manifest gives no `maxImages`. */
const defaultMaxImages = 10;
/** Maximum number of frames of one video. */
const maxFrames = 8;
/** Longer side of a frame. */
const maxFrameSide = 768;
/** All frames of a request take up to this share of the context. */
const framesShare = 0.5;

/** Stores the images and frames of videos that a model reads itself where its worker can read them. */
@Injectable()
export class ChatImages {
  constructor(
    private readonly artifacts: MediaArtifacts,
    private readonly videos: ChatVideos,
  ) {}

  /**
   * Returns the messages with each image and video stored, or the same array without them or for a model that sees none.
   * A model that reads one image gets those of the last message that has any; the others are dropped unread. Rejects with
   * what is wrong with an image or a video, naming its part: `INVALID_REQUEST`, also for too many, `CORRUPTED_IMAGE`,
   * `IMAGE_TOO_SMALL`, `IMAGE_TOO_LARGE`, `INVALID_VIDEO_FORMAT`, `PAYLOAD_TOO_LARGE`. Too many are refused before one
   * is read.
   */
  async prepare(messages: ChatMessage[], opened: ModelRequest): Promise<ChatMessage[]> {
    const can = builtCapabilities(opened.manifest);
    if (!can.supportsVision) return messages;
    const positions = findParts(messages, imageType);
    const kept = can.supportsMultipleImages ? positions : ofLastMessage(positions);
    checkCount(kept, opened.manifest);
    const shown = can.supportsVideoInput ? await this.showVideos(messages, opened, can) : new Map<ChatPart, ChatPart>();
    if (positions.length === 0 && shown.size === 0) return messages;
    opened.requireServed();
    const reader = this.artifacts.inputsOf(opened.http, opened.manifest.id, lifetimeMs);
    for (const { part, param } of kept) {
      const { artifactId } = await readChatImage(reader, part, param);
      const stored: StoredImagePart = { ...part, stored: { artifactId, param } };
      shown.set(part, stored);
    }
    return replaceParts(messages, (part) => {
      const seen = shown.get(part);
      if (seen !== undefined) return [seen];
      return part.type === 'image_url' ? [] : [part];
    });
  }

  /** Returns the videos with their frames. */
  private async showVideos(
    messages: ChatMessage[],
    opened: ModelRequest,
    can: ModelManifest['capabilities'],
  ): Promise<Map<ChatPart, ChatPart>> {
    const shown = new Map<ChatPart, ChatPart>();
    const positions = findParts(messages, videoType);
    const max = Math.min(maxVideos, can.maxVideos ?? maxVideos);
    const surplus = positions[max];
    if (surplus !== undefined) {
      const message = `The model ${opened.manifest.id} takes at most ${max} videos.`;
      throw invalidField(message, surplus.param, 'too_big');
    }
    if (positions.length === 0) return shown;
    opened.requireServed();
    const videos = this.videos.of(opened);
    const count = can.supportsMultipleImages ? framesOfEach(opened.manifest, positions.length) : 1;
    for (const { part, param } of positions) {
      const video = await videos.store(part, param);
      const frames = await videos.frames(video, { count, maxSide: maxFrameSide, param });
      const seen: ShownVideoPart = { ...part, shown: { video, frames, param } };
      shown.set(part, seen);
    }
    return shown;
  }
}

/** Stores an image. Rejects as `ChatImages.prepare` does. */
export async function readChatImage(
  reader: MediaInputReader,
  part: ChatImagePart,
  param: string,
): Promise<StoredImage> {
  const field = `${param}.image_url.url`;
  const { url } = part.image_url;
  if (!isDataUrl(url) && !/^https?:\/\//i.test(url)) {
    throw invalidField(`${field} must be an http(s) or data URL.`, field);
  }
  const limits = { minSide, maxPixels: maxImagePixels };
  return await reader.image(url, { param: field, maxBytes, timeoutMs, limits });
}

function framesOfEach({ contextLength = 0, familyOptions = {} }: ModelManifest, videos: number): number {
  const tokens = familyOptions['frameTokens'] ?? familyOptions['imageTokens'];
  if (typeof tokens !== 'number') return 1;
  return Math.max(1, Math.min(maxFrames, Math.floor((contextLength * framesShare) / tokens / videos)));
}

function ofLastMessage(positions: readonly ImagePosition[]): ImagePosition[] {
  const last = positions.at(-1)?.message;
  return positions.filter(({ message }) => message === last);
}

function checkCount(positions: readonly ImagePosition[], { id, capabilities }: ModelManifest): void {
  const max = capabilities.maxImages ?? (capabilities.supportsMultipleImages ? defaultMaxImages : 1);
  const surplus = positions[max];
  if (surplus === undefined) return;
  throw invalidField(`The model ${id} takes at most ${max} images.`, surplus.param, 'too_big');
}
