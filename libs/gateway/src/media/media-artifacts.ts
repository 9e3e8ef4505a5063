import { Injectable } from '@nestjs/common';
import { PlatformError } from '#common';
import { Egress } from '#egress';
import { decodeInline, type ImageHeader, type ImageLimits, isDataUrl, MediaTools, readImageHeader } from '#media';
import { type HttpExchange, UploadedFile } from '#platform/http';
import { type ArtifactContent, type ArtifactRecord, ArtifactStore, discard } from '#storage';
import { ClientDisconnectedError } from '../pipeline/job-stream.js';

/** An image in the storage. */
export interface StoredImage {
  artifactId: string;
  /** The hash of its bytes, in hex. */
  sha256: string;
  header: ImageHeader;
}

/** Which sources a field accepts beside an upload and a data URL. */
export interface InputSource {
  /** Field to name in errors. */
  param: string;
  maxBytes: number;
  /** Whether a text may be an http URL. Default true. */
  urls?: boolean;
  /** Whether a text that is no URL is base64; an empty one is passed on as empty bytes. Default false. */
  base64?: boolean;
  /** Whether a file may be a data URL. Default true. */
  dataUrls?: boolean;
  /** Content types that a URL may answer with. Default: any. */
  contentTypes?: readonly string[];
  /** Redirects that are followed. Default: those of `Egress`. */
  maxRedirects?: number;
  /** Timeout of a URL, in ms. */
  timeoutMs: number;
}

/** The inputs of requests and the results of jobs, in the storage. */
@Injectable()
export class MediaArtifacts {
  constructor(
    private readonly artifacts: ArtifactStore,
    private readonly egress: Egress,
    readonly tools: MediaTools,
  ) {}

  /**
   * A reader of the inputs of a model's job, which expire after `lifetimeMs` and are deleted when the request ends without a job
   * that owns them.
   */
  inputsOf(http: HttpExchange, modelId: string, lifetimeMs: number): MediaInputReader {
    const { egress, tools } = this;
    const artifacts = this.artifacts.ofModel(modelId);
    const owner = http.caller.accountId;
    const reader = new MediaInputReader({ artifacts, egress, tools, owner }, http.disconnected, lifetimeMs);
    http.onEnd(() => reader.release());
    return reader;
  }

  /** Reads an input before the model of its job is known, without storing it. Rejects as `MediaInputReader.image` does. */
  async read(http: HttpExchange, source: string | UploadedFile, from: InputSource): Promise<UploadedFile> {
    const { disconnected: signal } = http;
    const access = { egress: this.egress, owner: http.caller.accountId, signal };
    const bytes = await unlessDisconnected(signal, () => readInput(source, from, access));
    return new UploadedFile(bytes, '', '');
  }

  /** Reads and deletes the result of a job. Rejects with `PAYLOAD_TOO_LARGE` above `maxBytes`. */
  async takeResult(artifactId: string, maxBytes: number): Promise<{ bytes: Buffer; contentType: string }> {
    const { record, bytes } = await this.artifacts.read(artifactId, maxBytes);
    await discard(this.artifacts, [artifactId]);
    return { bytes, contentType: record.contentType };
  }
}

/** Stores the inputs of a valid request where the worker can read them. */
export class MediaInputReader {
  private readonly stored: string[] = [];

  constructor(
    private readonly dependencies: {
      artifacts: ArtifactStore;
      egress: Egress;
      tools: MediaTools;
      /** The account of the request. */
      owner: string;
    },
    readonly disconnected: AbortSignal,
    private readonly lifetimeMs: number,
  ) {}

  get artifactIds(): readonly string[] {
    return this.stored;
  }

  get tools(): MediaTools {
    return this.dependencies.tools;
  }

  /** Rejects with what is wrong with the image, naming its field; then nothing is stored. */
  async image(
    source: string | UploadedFile,
    { limits, ...from }: InputSource & { limits?: ImageLimits },
  ): Promise<StoredImage> {
    return await this.unlessDisconnected(async () => {
      const { owner, egress } = this.dependencies;
      const bytes = await readInput(source, from, { egress, owner, signal: this.disconnected });
      const header = await readImageHeader(bytes, { ...limits, owner, param: from.param, maxBytes: from.maxBytes });
      const { id: artifactId, sha256 } = await this.store(bytes, from);
      return { artifactId, sha256, header };
    });
  }

  /** Stores the content of a URL or a data URL without reading it into memory. Rejects as `Egress.open` does. */
  async file(url: string, { dataUrls = true, ...source }: InputSource): Promise<ArtifactRecord> {
    return await this.unlessDisconnected(async () => {
      const { param, maxBytes, timeoutMs, contentTypes, maxRedirects } = source;
      const limits = { maxBytes, param };
      if (dataUrls && isDataUrl(url)) return await this.store(decodeInline(url, limits).bytes, limits);
      const { body } = await this.dependencies.egress.open({
        url,
        owner: this.dependencies.owner,
        ...limits,
        timeoutMs,
        contentTypes,
        maxRedirects,
        signal: this.disconnected,
      });
      return await this.store(body, limits);
    });
  }

  /** Stores given content. Rejects with `PAYLOAD_TOO_LARGE`. */
  async store(content: ArtifactContent, { maxBytes }: { maxBytes: number }): Promise<ArtifactRecord> {
    return await this.unlessDisconnected(async () => {
      const contentType = 'application/octet-stream';
      const options = {
        kind: 'input',
        contentType,
        lifetimeMs: this.lifetimeMs,
        maxBytes,
        signal: this.disconnected,
      } as const;
      const record = await this.dependencies.artifacts.put(content, options);
      this.stored.push(record.id);
      return record;
    });
  }

  /** Copies the input of another model's job. */
  async adopt({ id }: Pick<ArtifactRecord, 'id'>): Promise<ArtifactRecord> {
    return await this.unlessDisconnected(async () => {
      const copy = await this.dependencies.artifacts.copy(id, { kind: 'input', lifetimeMs: this.lifetimeMs });
      this.stored.push(copy.id);
      return copy;
    });
  }

  /** Provides a stored input as a local file. */
  async withFile<Result>(id: string, use: (path: string) => Promise<Result>): Promise<Result> {
    return await this.unlessDisconnected(() => this.dependencies.artifacts.withFile(id, use));
  }

  /** A job owns the inputs now. */
  handOver(): void {
    this.stored.length = 0;
  }

  /** Deletes the inputs that no job owns. */
  async release(): Promise<void> {
    await discard(this.dependencies.artifacts, this.stored.splice(0));
  }

  /** Reports any failure of work that a disconnection aborted as a disconnection. */
  private async unlessDisconnected<Result>(work: () => Promise<Result>): Promise<Result> {
    return await unlessDisconnected(this.disconnected, work);
  }
}

/** How an input is read from another host. */
interface InputAccess {
  egress: Pick<Egress, 'read'>;
  /** The account of the request. */
  owner: string;
  signal: AbortSignal;
}

async function readInput(source: string | UploadedFile, from: InputSource, access: InputAccess): Promise<Buffer> {
  const { param, maxBytes, urls = true, base64 = false, timeoutMs } = from;
  if (source instanceof UploadedFile) return source.bytes;
  if (isDataUrl(source) || (base64 && !/^[a-z]+:\/\//i.test(source))) {
    return decodeInline(source, { maxBytes, param, mayBeEmpty: base64 }).bytes;
  }
  if (!urls) throw new PlatformError('INVALID_REQUEST', `${param} must be a file, base64 or a data URL.`, param);
  const { egress, owner, signal } = access;
  return (await egress.read({ url: source, owner, maxBytes, param, timeoutMs, signal })).bytes;
}

async function unlessDisconnected<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw signal.aborted ? new ClientDisconnectedError() : error;
  }
}
