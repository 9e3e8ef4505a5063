import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { noTokens, PlatformError } from '#common';
import { type LimitedModelRequest, type ModelRequest } from '#gateway';
import { ImageDescriber, type ImageDescription, type ImagesInput } from '#gateway/inputs';
import {
  descriptionUnit,
  type ImageDescribedEvent,
  imageJob,
  type ImageJobPayload,
  plainImage,
  quoteImages,
} from '../contract/index.js';

class Descriptions {
  private readonly texts = new Map<number, string>();

  add({ index, text }: ImageDescribedEvent): void {
    this.texts.set(index, text);
  }

  /** Throws `INFERENCE_FAILED` if one is missing. */
  all(count: number): string[] {
    return Array.from({ length: count }, (_, index) => {
      const text = this.texts.get(index);
      if (text === undefined) throw new PlatformError('INFERENCE_FAILED', 'The description of an image is missing.');
      return text;
    });
  }
}

/** Turns images that chats hold into text, for models that do not see. */
@Injectable()
export class InputImageDescriber extends ImageDescriber {
  async prepare(model: ModelRequest, { images, param, deadlineMs }: ImagesInput): Promise<ImageDescription> {
    model.requireServed();
    const { pricing } = await model.price();
    const payload = payloadOf(images.map(({ artifactId }) => artifactId));
    let limited: LimitedModelRequest | null = null;
    const units = { [descriptionUnit]: images.length };
    const jobSpec = { definition: imageJob, payload, bounds: { ...noTokens, units }, deadlineMs };
    return {
      contentHash: hashOf(images.map(({ sha256 }) => sha256)),
      amountNano: quoteImages(units, pricing),
      limit: async () => void (limited = await model.limit()),
      run: async (amountNano) => {
        if (limited === null) throw new Error('The limits of a description were not applied.');
        try {
          const { collected } = await limited.collect({ ...jobSpec, amountNano }, () => new Descriptions());
          return collected.all(images.length);
        } catch (error) {
          throw named(error, param);
        }
      },
    };
  }
}

function payloadOf(inputs: string[]): ImageJobPayload {
  return { ...plainImage('describe', inputs, 0), seeds: [], priceOfImage: descriptionUnit };
}

function hashOf(hashes: readonly string[]): string {
  const [only, ...others] = hashes;
  if (only !== undefined && others.length === 0) return only;
  return createHash('sha256').update(hashes.join()).digest('hex');
}

/** Turns what is wrong with an image into an error that names its field. Other errors stay. */
function named(error: unknown, param: string): unknown {
  if (!(error instanceof PlatformError)) return error;
  const { code, message } = error;
  if (code === 'CORRUPTED_IMAGE') return new PlatformError(code, message, param, { cause: error });
  if (code !== 'INFERENCE_FAILED') return error;
  return new PlatformError(code, 'The description of an input failed.', param, { cause: error });
}
