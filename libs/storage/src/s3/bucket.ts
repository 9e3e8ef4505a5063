import type { CompletedPart, S3 } from '@aws-sdk/client-s3';
import type { Readable } from 'node:stream';
import type { ByteRange } from '../artifact-store.js';
import { objectStoreError } from '../storage-error.js';

export interface S3Settings {
  /** Default: that of the region. */
  endpoint?: string;
  region: string;
  /** Default: the machine's credentials. */
  accessKeyId?: string;
  secretAccessKey?: string;
  /** True for path-style addressing of the bucket. */
  pathStyle?: boolean;
}

/** A multipart upload. */
export interface Upload {
  key: string;
  uploadId: string;
}

/** An unfinished multipart upload. */
export interface OpenUpload extends Upload {
  startedAtMs: number;
}

export type { CompletedPart };

const connectTimeoutMs = 5_000;
/** Idle timeout of a connection, in ms. */
const idleTimeoutMs = 60_000;

/** No artifact is named like this. */
const unusedKey = 'sluice-ping';

/** One bucket of an S3-compatible server, limited to the calls that every such server supports. */
export class Bucket {
  private client: Promise<S3> | null = null;

  constructor(
    private readonly name: string,
    private readonly settings: S3Settings,
  ) {}

  async put(key: string, body: Uint8Array, contentType: string, signal?: AbortSignal): Promise<void> {
    const request = { Bucket: this.name, Key: key, Body: body, ContentType: contentType };
    await this.ask((s3) => s3.putObject(request, { abortSignal: signal }), signal);
  }

  async startUpload(key: string, contentType: string): Promise<Upload> {
    const request = { Bucket: this.name, Key: key, ContentType: contentType };
    const { UploadId } = await this.ask((s3) => s3.createMultipartUpload(request));
    if (UploadId === undefined) throw objectStoreError(new Error('the server named no upload'));
    return { key, uploadId: UploadId };
  }

  async putPart(upload: Upload, number: number, body: Uint8Array, signal?: AbortSignal): Promise<CompletedPart> {
    const request = { ...this.named(upload), PartNumber: number, Body: body };
    const { ETag } = await this.ask((s3) => s3.uploadPart(request, { abortSignal: signal }), signal);
    return { ETag, PartNumber: number };
  }

  async finishUpload(upload: Upload, parts: CompletedPart[]): Promise<void> {
    const request = { ...this.named(upload), MultipartUpload: { Parts: parts } };
    await this.ask((s3) => s3.completeMultipartUpload(request));
  }

  async abortUpload(upload: Upload): Promise<void> {
    await this.ask((s3) => s3.abortMultipartUpload(this.named(upload)));
  }

  /** Returns the content; null if it does not exist. */
  async get(key: string, range?: ByteRange): Promise<Readable | null> {
    const Range = range === undefined ? undefined : `bytes=${range.first}-${range.last}`;
    const response = await this.askFor((s3) => s3.getObject({ Bucket: this.name, Key: key, Range }));
    return (response?.Body ?? null) as Readable | null;
  }

  /** Returns false if there was nothing to copy. */
  async copy(from: string, to: string): Promise<boolean> {
    const CopySource = `${this.name}/${from.split('/').map(encodeURIComponent).join('/')}`;
    return (await this.askFor((s3) => s3.copyObject({ Bucket: this.name, Key: to, CopySource }))) !== null;
  }

  async delete(key: string): Promise<void> {
    await this.ask((s3) => s3.deleteObject({ Bucket: this.name, Key: key }));
  }

  /** Lists names under a prefix up to the next `/`; folders end in `/`. */
  async *list(prefix: string): AsyncGenerator<string> {
    let after: string | undefined;
    do {
      const request = { Bucket: this.name, Prefix: prefix, Delimiter: '/', ContinuationToken: after };
      const page = await this.ask((s3) => s3.listObjectsV2(request));
      for (const { Prefix } of page.CommonPrefixes ?? []) if (Prefix !== undefined) yield Prefix;
      for (const { Key } of page.Contents ?? []) if (Key !== undefined) yield Key;
      after = page.IsTruncated === true ? page.NextContinuationToken : undefined;
    } while (after !== undefined);
  }

  /** Lists unfinished uploads below a prefix. */
  async openUploads(prefix: string): Promise<OpenUpload[]> {
    const { Uploads = [] } = await this.ask((s3) => s3.listMultipartUploads({ Bucket: this.name, Prefix: prefix }));
    return Uploads.map(({ Key = '', UploadId = '', Initiated }) => ({
      key: Key,
      uploadId: UploadId,
      startedAtMs: Initiated?.getTime() ?? Number.POSITIVE_INFINITY,
    }));
  }

  /** The credentials of a pool may not look at the bucket: then the server must know them. */
  async ping(): Promise<void> {
    await this.ask(async (s3) => {
      try {
        await s3.headBucket({ Bucket: this.name });
      } catch (error) {
        if (statusOf(error) !== 403) throw error;
        await s3.getObject({ Bucket: this.name, Key: unusedKey }).catch((reason: unknown) => {
          if (!isMissing(reason) && (reason as Error).name !== 'AccessDenied') throw reason;
        });
      }
    });
  }

  async close(): Promise<void> {
    (await this.client)?.destroy();
  }

  private named({ key, uploadId }: Upload): { Bucket: string; Key: string; UploadId: string } {
    return { Bucket: this.name, Key: key, UploadId: uploadId };
  }

  private async ask<Response>(call: (s3: S3) => Promise<Response>, signal?: AbortSignal): Promise<Response> {
    try {
      return await call(await this.open());
    } catch (error) {
      signal?.throwIfAborted();
      throw objectStoreError(error);
    }
  }

  /** Like `ask`; returns null if the server reports that the object does not exist. */
  private async askFor<Response>(call: (s3: S3) => Promise<Response>): Promise<Response | null> {
    try {
      return await call(await this.open());
    } catch (error) {
      if (isMissing(error)) return null;
      throw objectStoreError(error);
    }
  }

  private open(): Promise<S3> {
    this.client ??= openClient(this.settings);
    return this.client;
  }
}

async function openClient(settings: S3Settings): Promise<S3> {
  const { endpoint, region, accessKeyId, secretAccessKey, pathStyle = false } = settings;
  // Loaded on demand: the client costs half a second and 25 MB, which an installation with a folder need not spend.
  const { S3 } = await import('@aws-sdk/client-s3');
  const hasKeys = accessKeyId !== undefined || secretAccessKey !== undefined;
  return new S3({
    endpoint,
    region,
    forcePathStyle: pathStyle,
    ...(hasKeys ? { credentials: { accessKeyId: accessKeyId ?? '', secretAccessKey: secretAccessKey ?? '' } } : {}),
    requestHandler: { connectionTimeout: connectTimeoutMs, socketTimeout: idleTimeoutMs },
    // S3-compatible servers often lack the newer checksums; records contain a sha256 anyway.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: 3,
  });
}

function isMissing(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error.name === 'NoSuchKey' || (statusOf(error) === 404 && error.name !== 'NoSuchBucket');
}

function statusOf(error: unknown): number | undefined {
  return (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
}
