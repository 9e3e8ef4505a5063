import { PlatformError } from '#common';
import type { Egress } from '#egress';
import { decodeInline, isDataUrl, type ImageHeader, type ImageLimits, readImageHeader } from '#media';
import { UploadedFile } from '#platform/http';
import { type ArtifactStore, discard } from '#storage';
import { maxImageBytes, type WireImage } from '../contract/image.request.js';

/** A picture in the storage that is worth a job. */
export interface TakenImage {
  artifactId: string;
  header: ImageHeader;
}

export interface InputRules extends ImageLimits {
  /** Field to name in errors. */
  param: string;
  /** Whether a text may be an http URL. */
  urls: boolean;
}

/** Kept for the deadline of the job and a little more, should nobody be left to delete it. */
const lifetimeMs = 1_200_000;
const fetchTimeoutMs = 30_000;

/** Puts pictures where the worker finds them, once their header shows what they are. */
export class ImageInputReader {
  private readonly taken: string[] = [];

  constructor(
    private readonly parts: { artifacts: ArtifactStore; egress: Egress },
    private readonly disconnected: AbortSignal,
  ) {}

  /** Rejects with what is wrong with the picture, by its field; nothing is stored then. */
  async take(image: WireImage, rules: InputRules): Promise<TakenImage> {
    const bytes = await this.bytesOf(image, rules);
    const header = await readImageHeader(bytes, { ...rules, maxBytes: rules.maxBytes ?? maxImageBytes });
    const options = {
      kind: 'input',
      contentType: 'application/octet-stream',
      lifetimeMs,
      signal: this.disconnected,
    } as const;
    const { id } = await this.parts.artifacts.put(bytes, options);
    this.taken.push(id);
    return { artifactId: id, header };
  }

  /** Deletes what was taken; for when the job has ended, or never began. */
  async release(): Promise<void> {
    await discard(this.parts.artifacts, this.taken.splice(0));
  }

  private async bytesOf(image: WireImage, rules: InputRules): Promise<Buffer> {
    const { param, urls, maxBytes = maxImageBytes } = rules;
    if (image instanceof UploadedFile) return image.bytes;
    if (isDataUrl(image) || !/^[a-z]+:\/\//i.test(image)) {
      // An empty picture is a damaged one, however it came: its header says so.
      return decodeInline(image, { maxBytes, param, mayBeEmpty: true }).bytes;
    }
    if (!urls) throw new PlatformError('INVALID_REQUEST', `${param} must be a file, base64 or a data URL.`, param);
    const request = { url: image, maxBytes, param, timeoutMs: fetchTimeoutMs, signal: this.disconnected };
    return (await this.parts.egress.read(request)).bytes;
  }
}
