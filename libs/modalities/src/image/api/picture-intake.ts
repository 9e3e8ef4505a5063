import { PlatformError } from '#common';
import type { Egress } from '#egress';
import { decodeInline, isDataUrl, type PictureHeader, type PictureLimits, readPictureHeader } from '#media';
import { UploadedFile } from '#platform/http';
import { type ArtifactStore, discard } from '#storage';
import { mostPictureBytes, type WirePicture } from '../contract/image.request.js';

/** A picture in the storage that is worth a job. */
export interface TakenPicture {
  artifactId: string;
  header: PictureHeader;
}

export interface IntakeRules extends PictureLimits {
  /** Field to name in errors. */
  param: string;
  /** Whether a text may be an http URL. */
  urls: boolean;
}

/** Kept for the deadline of the job and a little more, should nobody be left to delete it. */
const lifetimeMs = 1_200_000;
const fetchTimeoutMs = 30_000;

/** Puts pictures where the worker finds them, once their header shows what they are. */
export class PictureIntake {
  private readonly taken: string[] = [];

  constructor(
    private readonly parts: { artifacts: ArtifactStore; egress: Egress },
    private readonly gone: AbortSignal,
  ) {}

  /** Rejects with what is wrong with the picture, by its field; nothing is stored then. */
  async take(picture: WirePicture, rules: IntakeRules): Promise<TakenPicture> {
    const bytes = await this.bytesOf(picture, rules);
    const header = await readPictureHeader(bytes, { ...rules, maxBytes: rules.maxBytes ?? mostPictureBytes });
    const options = { kind: 'input', contentType: 'application/octet-stream', lifetimeMs, signal: this.gone } as const;
    const { id } = await this.parts.artifacts.put(bytes, options);
    this.taken.push(id);
    return { artifactId: id, header };
  }

  /** Deletes what was taken; for when the job has ended, or never began. */
  async release(): Promise<void> {
    await discard(this.parts.artifacts, this.taken.splice(0));
  }

  private async bytesOf(picture: WirePicture, rules: IntakeRules): Promise<Buffer> {
    const { param, urls, maxBytes = mostPictureBytes } = rules;
    if (picture instanceof UploadedFile) return picture.bytes;
    if (isDataUrl(picture) || !/^[a-z]+:\/\//i.test(picture)) {
      // An empty picture is a damaged one, however it came: its header says so.
      return decodeInline(picture, { maxBytes, param, mayBeEmpty: true }).bytes;
    }
    if (!urls) throw new PlatformError('INVALID_REQUEST', `${param} must be a file, base64 or a data URL.`, param);
    const request = { url: picture, maxBytes, param, timeoutMs: fetchTimeoutMs, signal: this.gone };
    return (await this.parts.egress.read(request)).bytes;
  }
}
