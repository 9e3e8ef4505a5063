import { Injectable } from '@nestjs/common';
import type { NanoUsd } from '#common';
import { MediaArtifacts, type ModelRequest, RequestPipeline } from '#gateway';
import { ImageDescriber, InputTranscriber, type InputWork, maxDescriptionLength } from '#gateway/inputs';
import type { InputAdapters, ModelType } from '#model-registry/manifest';
import { ApiConfig } from '#platform/config';
import { callerOf } from '#platform/http';
import type { ArtifactRecord } from '#storage';
import type { ChatAudioPart, ChatImagePart, ChatVideoPart } from '../../contract/chat.message.js';
import { AdapterCache } from './adapter-cache.js';
import { describeFrameFindings, describeImageFindings, describeTranscript, transcriptBytes } from './adapted-text.js';
import { decodeAudioPart } from './audio-part.js';
import { readChatImage } from './chat-images.js';
import type { StoredFrame } from '../job/prepared-parts.js';
import { ChatVideos, isShownVideo, maxVideoSeconds, type RequestVideos } from './chat-videos.js';

/** A part that other models turn into text. */
export type AdaptedPart = ChatAudioPart | ChatImagePart | ChatVideoPart;

/** One job that turns a part, or some of it, into texts. */
export interface AdapterRun {
  input: keyof InputAdapters;
  modelId: string;
  /** 0 if the texts are known already. */
  amountNano: NanoUsd;
  /** Maximum bytes of the texts, as a rule. */
  maxBytes: number;
  limit(): Promise<void>;
  run(reservedNano: NanoUsd): Promise<readonly string[]>;
}

/** A part that is stored and checked. */
export interface PreparedPart {
  part: AdaptedPart;
  runs: readonly AdapterRun[];
  /** Returns the text that replaces the part, from the texts of each run in order. */
  textOf(results: readonly (readonly string[])[]): string;
}

/** Frames of a video that image adapters read. */
const describedFrames = 4;
/** Longer side of such a frame. */
const maxFrameSide = 1_280;
const videoContainers = ['mp4', 'webm', 'mpeg', 'mpegts'] as const;
/** Images of a model that does not see expire like recordings. */
const lifetimeMs = 2_400_000;
const cacheMegabyte = 1_048_576;

/** Prepares the parts of requests for the input adapters of their models. */
@Injectable()
export class AdaptedParts {
  private readonly cache: AdapterCache;

  constructor(
    private readonly pipeline: RequestPipeline,
    private readonly transcriber: InputTranscriber,
    private readonly describer: ImageDescriber,
    private readonly artifacts: MediaArtifacts,
    private readonly videos: ChatVideos,
    private readonly config: ApiConfig,
  ) {
    this.cache = new AdapterCache(config.adapterCacheMb * cacheMegabyte);
  }

  /** The parts of one request. */
  of(opened: ModelRequest): RequestParts {
    const { pipeline, transcriber, describer, cache, config } = this;
    const inputsFor = (modelId: string) => this.artifacts.inputsOf(opened.http, modelId, lifetimeMs);
    const { chatDeadlineMs: deadlineMs } = config;
    const shared = { pipeline, transcriber, describer, cache, inputsFor, videos: this.videos.of(opened), deadlineMs };
    return new RequestParts(opened, shared);
  }
}

interface Shared {
  pipeline: Pick<RequestPipeline, 'openInput'>;
  transcriber: InputTranscriber;
  describer: ImageDescriber;
  cache: AdapterCache;
  inputsFor: (modelId: string) => ReturnType<MediaArtifacts['inputsOf']>;
  videos: RequestVideos;
  deadlineMs: number;
}

interface Sound {
  source: { bytes: Buffer } | { stored: ArtifactRecord };
  kind: 'recording' | 'video';
  containers: Parameters<InputTranscriber['prepare']>[1]['containers'];
  field: string;
}

export class RequestParts {
  private jobs = 0;

  constructor(
    private readonly opened: ModelRequest,
    private readonly shared: Shared,
  ) {}

  /**
   * Stores and checks a part. Nothing runs, and nothing is charged. Its adapters come first: without one, nothing is
   * fetched or decoded.
   */
  async prepare(part: AdaptedPart, param: string): Promise<PreparedPart> {
    switch (part.type) {
      case 'input_audio':
        return await this.audio(part, param);
      case 'image_url':
        return await this.image(part, param);
      case 'video_url':
        return await this.video(part, param);
    }
  }

  private async audio(part: ChatAudioPart, param: string): Promise<PreparedPart> {
    const model = await this.transcriberFor(param);
    const { bytes, containers } = await decodeAudioPart(part, param);
    const field = `${param}.input_audio.data`;
    const sound = await this.transcription(model, { source: { bytes }, kind: 'recording', containers, field });
    return { part, runs: [sound], textOf: ([texts]) => describeTranscript({ kind: 'audio' }, texts?.[0] ?? '') };
  }

  private async image(part: ChatImagePart, param: string): Promise<PreparedPart> {
    const models = await this.describersFor(param);
    const image = await readChatImage(this.shared.inputsFor(this.opened.manifest.id), part, param);
    const runs = await this.descriptions(models, [image], `${param}.image_url.url`);
    return { part, runs, textOf: (results) => describeImageFindings(results.map(([text = '']) => text)) };
  }

  private async video(part: ChatVideoPart, param: string): Promise<PreparedPart> {
    const { manifest } = this.opened;
    const { audio } = manifest.inputAdapters ?? {};
    const field = `${param}.video_url.url`;
    const isShown = isShownVideo(part);
    const describers = isShown ? [] : await this.describersFor(param);
    const transcriber = audio === undefined ? null : await this.transcriberFor(param);
    const stored = isShown ? part.shown.video : await this.shared.videos.store(part, param);
    const frames: StoredFrame[] = [];
    const runs: AdapterRun[] = [];
    if (describers.length > 0) {
      const size = { count: describedFrames, maxSide: maxFrameSide, param };
      frames.push(...(await this.shared.videos.frames(stored, size)));
      runs.push(...(await this.descriptions(describers, frames, field)));
    }
    if (transcriber !== null) {
      const sound: Sound = { source: { stored }, kind: 'video', containers: videoContainers, field };
      runs.push(await this.transcription(transcriber, sound));
    }
    const readFrames = frames.length > 0 ? 'described' : 'none';
    const textOf = (results: readonly (readonly string[])[]): string => {
      const ofFrames = audio === undefined ? results : results.slice(0, -1);
      const found = frames.map(({ seconds }, index) => ({
        seconds,
        findings: ofFrames.map((texts) => texts[index] ?? ''),
      }));
      const described = frames.length === 0 ? [] : [describeFrameFindings(found)];
      const from = { kind: 'video', frames: isShown ? 'shown' : readFrames } as const;
      const heard = audio === undefined ? [] : [describeTranscript(from, results.at(-1)?.[0] ?? '')];
      return [...described, ...heard].join('\n');
    };
    return { part, runs, textOf };
  }

  private transcriberFor(param: string): Promise<ModelRequest> {
    return this.open(this.opened.manifest.inputAdapters?.audio ?? '', 'asr', param);
  }

  private async describersFor(param: string): Promise<ModelRequest[]> {
    const models: ModelRequest[] = [];
    for (const id of this.opened.manifest.inputAdapters?.image ?? []) models.push(await this.open(id, 'image', param));
    return models;
  }

  private async transcription(model: ModelRequest, { field, ...sound }: Sound): Promise<AdapterRun> {
    const { deadlineMs, transcriber } = this.shared;
    const recording = { ...sound, param: field, maxSeconds: maxVideoSeconds, deadlineMs };
    const work = await transcriber.prepare(model, recording);
    const run = async (reservedNano: NanoUsd) => [await work.run(reservedNano)];
    return this.cached('audio', model, { ...work, run }, transcriptBytes(work.seconds));
  }

  /** One job per adapter, each with all images. */
  private async descriptions(
    models: readonly ModelRequest[],
    images: readonly { artifactId: string; sha256: string }[],
    field: string,
  ): Promise<AdapterRun[]> {
    const { describer, deadlineMs } = this.shared;
    const runs: AdapterRun[] = [];
    for (const model of models) {
      const inputs = this.shared.inputsFor(model.manifest.id);
      const adopt = async ({ artifactId, sha256 }: { artifactId: string; sha256: string }) => ({
        artifactId: (await inputs.adopt({ id: artifactId })).id,
        sha256,
      });
      const copies = await Promise.all(images.map(adopt));
      const work = await describer.prepare(model, { images: copies, param: field, deadlineMs });
      runs.push(this.cached('image', model, work, images.length * maxDescriptionLength));
    }
    return runs;
  }

  private async open(id: string, type: ModelType, param: string): Promise<ModelRequest> {
    this.jobs++;
    return await this.shared.pipeline.openInput(this.opened.http, { id, type, param, position: this.jobs });
  }

  /** What the same account sent to the same adapter before costs nothing again. */
  private cached(
    input: AdapterRun['input'],
    { manifest: { id: modelId } }: ModelRequest,
    work: InputWork<readonly string[]>,
    maxBytes: number,
  ): AdapterRun {
    const { cache } = this.shared;
    const { accountId } = callerOf(this.opened.http.request);
    const key = { accountId, modelId, contentHash: work.contentHash };
    const known = cache.get(key);
    if (known !== null) {
      const length = known.reduce((sum, text) => sum + Buffer.byteLength(text), maxFrameText);
      return {
        input,
        modelId,
        amountNano: 0n,
        maxBytes: length,
        limit: () => Promise.resolve(),
        run: () => Promise.resolve(known),
      };
    }
    const run = async (reservedNano: NanoUsd): Promise<readonly string[]> => {
      // An earlier part of the request may hold the same.
      const found = cache.get(key);
      if (found !== null) return found;
      const texts = await work.run(reservedNano);
      cache.set(key, texts);
      return texts;
    };
    return { input, modelId, amountNano: work.amountNano, maxBytes, limit: () => work.limit(), run };
  }
}

/** Bytes of the marks around a text. */
const maxFrameText = 256;
