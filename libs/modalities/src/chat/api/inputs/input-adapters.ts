import { Injectable } from '@nestjs/common';
import type { NanoUsd } from '#common';
import type { ModelRequest } from '#gateway';
import { builtCapabilities } from '#model-registry/manifest';
import type { ChatMessage, ChatPart } from '../../contract/chat.message.js';
import type { PromptSource, SourceRun } from '../job/prompt-source.js';
import type { StartedChat } from '../job/started-chat.js';
import {
  type AdaptedPart,
  AdaptedParts,
  type AdapterRun,
  type PreparedPart,
  type RequestParts,
} from './adapted-parts.js';
import { maxVideos } from './chat-videos.js';
import { checkPartCounts, findParts, type PartPosition, withTexts } from './content-parts.js';

/** Maximum number of parts in one request, by type. */
const maxParts: Record<AdaptedPart['type'], number> = { input_audio: 16, video_url: maxVideos, image_url: 10 };

type AdaptedPosition = PartPosition<AdaptedPart>;

/**
 * Turns parts that a model cannot take into text, through the models that its manifest names under `inputAdapters`.
 * Each such run is a job with its own limits, reservation and charge.
 */
@Injectable()
export class InputAdapters {
  constructor(private readonly parts: AdaptedParts) {}

  /** Finds the parts to adapt. Throws `INVALID_REQUEST` for too many; nothing is decoded, fetched or run. */
  plan(messages: ChatMessage[], opened: ModelRequest): AdaptedMessages {
    const positions = findParts(messages, adaptedTypesOf(opened));
    checkPartCounts(positions, (type) => maxParts[type as AdaptedPart['type']]);
    return new AdaptedMessages(positions, opened, () => this.parts.of(opened));
  }
}

/** The types of parts that the model does not take, but an adapter of it does. */
function adaptedTypesOf({ manifest }: ModelRequest): Set<AdaptedPart['type']> {
  const { audio, image } = manifest.inputAdapters ?? {};
  const types = new Set<AdaptedPart['type']>();
  if (audio !== undefined) types.add('input_audio').add('video_url');
  if (image === undefined || builtCapabilities(manifest).supportsVision) return types;
  return types.add('image_url').add('video_url');
}

/** The parts of a request that are turned into text. */
export class AdaptedMessages implements PromptSource {
  readonly afterAdmissionMs = null;
  readonly use = {};
  /** Null before `limit`. */
  private parts: PreparedPart[] | null = null;

  constructor(
    private readonly positions: readonly AdaptedPosition[],
    private readonly opened: ModelRequest,
    private readonly partsOf: () => Pick<RequestParts, 'prepare'>,
  ) {}

  /** The fields of the parts. */
  get params(): string[] {
    return this.positions.map(({ param }) => param);
  }

  get isEmpty(): boolean {
    return this.positions.length === 0;
  }

  get amountNano(): NanoUsd {
    return this.runs.reduce((sum, { amountNano }) => sum + amountNano, 0n);
  }

  /** A text of a part may fill the context, until it is known how long its recording or how many its images are. */
  bound(messages: ChatMessage[]): ChatMessage[] {
    // A token is at least one byte.
    const maxBytes = this.opened.manifest.contextLength ?? 0;
    const known = this.parts?.map(({ part, runs }) => {
      const bytes = runs.reduce((sum, run) => sum + run.maxBytes, 0);
      return [part, Math.min(maxBytes, bytes)] as const;
    });
    const lengths = known ?? this.positions.map(({ part }) => [part, maxBytes] as const);
    return withTexts(messages, new Map(lengths.map(([part, bytes]) => [part, '.'.repeat(bytes)])));
  }

  /** Stores and checks each part. Rejects as `RequestParts.prepare` and `ModelRequest.limit` do. */
  async limit(): Promise<void> {
    const ofRequest = this.partsOf();
    const parts: PreparedPart[] = [];
    for (const { part, param } of this.positions) parts.push(await ofRequest.prepare(part, param));
    this.parts = parts;
    for (const run of this.runs) await run.limit();
  }

  /** Runs the adapters one after the other. Sets `x-service-input-adapter`. Rejects as `AdapterRun.run` does. */
  async run(messages: ChatMessage[], { reservedNano }: Pick<SourceRun, 'reservedNano'>): Promise<ChatMessage[]> {
    let leftNano = reservedNano;
    const texts = new Map<ChatPart, string>();
    for (const { part, runs, textOf } of this.parts ?? []) {
      const results: (readonly string[])[] = [];
      for (const run of runs) {
        results.push(await run.run(leftNano));
        leftNano -= run.amountNano;
      }
      texts.set(part, textOf(results));
    }
    const names = new Set(this.runs.map(({ input, modelId }) => `${input}=${modelId}`));
    void this.opened.http.reply.header('x-service-input-adapter', [...names].join(', '));
    return withTexts(messages, texts);
  }

  present(started: StartedChat): StartedChat {
    return started;
  }

  private get runs(): AdapterRun[] {
    return (this.parts ?? []).flatMap(({ runs }) => runs);
  }
}
