import { PlatformError } from '#common';
import type { EventPresenter } from '#gateway';
import type { FrameSize } from '#media';
import { sseData } from '#platform/http';
import type { ReplyEvent } from '#queue';
import type { ImageCompletedEvent } from '../contract/image.response.js';

/** An image of a job, read from the storage. */
export interface FinishedImageEvent extends ReplyEvent, FrameSize {
  type: 'image-finished';
  bytes: Buffer;
  contentType: string;
}

/** Images are billed one by one; no route of images counts tokens. */
const noUsage: ImageCompletedEvent['usage'] = {
  input_tokens: 0,
  input_tokens_details: { image_tokens: 0, text_tokens: 0 },
  output_tokens: 0,
  total_tokens: 0,
};

/**
 * The events of OpenAI's image streams: one per image, as soon as it is complete. No partial images are sent: a client
 * may ask for up to three, and gets the complete image without any, as for an image that is finished early.
 */
export class ImageStreamPresenter implements EventPresenter<FinishedImageEvent> {
  private sent = 0;

  constructor(
    private readonly type: ImageCompletedEvent['type'],
    /** Number of images that the client asked for. */
    private readonly count: number,
  ) {}

  present({ bytes, contentType, width, height }: FinishedImageEvent): string[] {
    const event: ImageCompletedEvent = {
      type: this.type,
      b64_json: bytes.toString('base64'),
      created_at: Math.floor(Date.now() / 1_000),
      size: `${width}x${height}`,
      // Neither is chosen by clients.
      quality: 'auto',
      background: 'auto',
      output_format: contentType.slice('image/'.length),
      usage: noUsage,
    };
    this.sent += 1;
    return [JSON.stringify(event)];
  }

  /** Throws `INFERENCE_FAILED` if an image is missing. */
  finish(): string[] {
    if (this.sent === this.count) return [];
    throw new PlatformError('INFERENCE_FAILED', 'An image is missing.');
  }

  frame(json: string): string {
    return `event: ${json.startsWith('{"type"') ? this.type : 'error'}\n${sseData(json)}`;
  }
}
