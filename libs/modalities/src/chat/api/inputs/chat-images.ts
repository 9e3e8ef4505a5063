import { Inject, Injectable } from '@nestjs/common';
import { invalidField, MediaArtifacts, type ModelRequest } from '#gateway';
import { isDataUrl } from '#media';
import { builtCapabilities, type ModelManifest } from '#model-registry/manifest';
import { maxImagePixels } from '../../contract/chat.job.js';
import type { ChatImagePart, ChatMessage, ChatPart } from '../../contract/chat.message.js';
import { findParts, type PartPosition, replaceParts } from './content-parts.js';

/** An image part whose image lies in the storage. */
export interface StoredImagePart extends ChatImagePart {
  stored: { artifactId: string; param: string };
}

type ImagePosition = PartPosition<ChatImagePart>;

const imageType = new Set(['image_url'] as const);
const minSide = 64;
const maxBytes = 26_214_400;
const timeoutMs = 30_000;
/** Images expire a while after the job's deadline in case no process deletes them. */
const lifetimeMs = 1_200_000;
/** Images per request of models whose manifest gives no `maxImages`. */
const defaultMaxImages = 10;

/** Stores the images that a model reads itself where its worker can read them. */
@Injectable()
export class ChatImages {
  constructor(@Inject(MediaArtifacts) private readonly artifacts: Pick<MediaArtifacts, 'inputsOf'>) {}

  /**
   * Returns the messages with each image stored, or the same array without images or for a model that sees none. A model
   * that reads one image gets those of the last message that has any; the others are dropped unread. Rejects with what
   * is wrong with an image, naming its part: `INVALID_REQUEST`, also for too many, `CORRUPTED_IMAGE`, `IMAGE_TOO_SMALL`,
   * `IMAGE_TOO_LARGE`, `PAYLOAD_TOO_LARGE`. Too many are refused before one is read.
   */
  async prepare(messages: ChatMessage[], opened: ModelRequest): Promise<ChatMessage[]> {
    const positions = findParts(messages, imageType);
    if (positions.length === 0) return messages;
    const { manifest, http } = opened;
    const can = builtCapabilities(manifest);
    if (!can.supportsVision) return messages;
    const kept = can.supportsMultipleImages ? positions : ofLastMessage(positions);
    checkCount(kept, manifest);
    opened.requireServed();
    const reader = this.artifacts.inputsOf(http, lifetimeMs);
    const stored = new Map<ChatPart, StoredImagePart>();
    for (const { part, param } of kept) {
      const field = `${param}.image_url.url`;
      const { url } = part.image_url;
      if (!isDataUrl(url) && !/^https?:\/\//i.test(url)) {
        throw invalidField(`${field} must be an http(s) or data URL.`, field);
      }
      const limits = { minSide, maxPixels: maxImagePixels };
      const { artifactId } = await reader.image(url, { param: field, maxBytes, timeoutMs, limits });
      stored.set(part, { ...part, stored: { artifactId, param } });
    }
    return replaceParts(messages, (part) => {
      if (part.type !== 'image_url') return [part];
      const image = stored.get(part);
      return image === undefined ? [] : [image];
    });
  }
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
