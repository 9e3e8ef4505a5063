import { Inject, Injectable } from '@nestjs/common';
import type { NanoUsd } from '#common';
import type { ModelRequest } from '#gateway';
import { builtCapabilities } from '#model-registry/manifest';
import type { ChatMessage, ChatPart } from '../../contract/chat.message.js';
import { type AdaptedPart, AdaptedParts, type PreparedPart } from './adapted-parts.js';
import { maxVideos } from './chat-videos.js';
import { checkPartCounts, findParts, type PartPosition, withTexts } from './content-parts.js';

/** Maximum number of parts in one request, by type. */
const maxParts: Record<AdaptedPart['type'], number> = { input_audio: 16, video_url: maxVideos, image_url: 10 };

type AdaptedPosition = PartPosition<AdaptedPart>;

/** What the request that holds the parts reserves next. */
export interface NextReservation {
  /** The least that the request itself costs with these messages, in nano-USD. */
  minNano: (messages: ChatMessage[]) => NanoUsd;
}

/**
 * Turns parts that a model cannot take into text, through the models that its manifest names under `inputAdapters`.
 * Each such run is a job with its own limits, reservation and charge.
 */
@Injectable()
export class InputAdapters {
  constructor(@Inject(AdaptedParts) private readonly parts: Pick<AdaptedParts, 'of'>) {}

  /** Finds the parts to adapt. Throws `INVALID_REQUEST` for too many; nothing is decoded, fetched or run. */
  plan(messages: ChatMessage[], opened: ModelRequest): AdaptedMessages {
    const positions = findParts(messages, adaptedTypesOf(opened));
    checkPartCounts(positions, (type) => maxParts[type as AdaptedPart['type']]);
    return new AdaptedMessages(messages, positions, boundOf(opened), (next) =>
      this.run(messages, { positions, opened, next }),
    );
  }

  private async run(
    messages: ChatMessage[],
    { positions, opened, next }: { positions: AdaptedPosition[]; opened: ModelRequest; next: NextReservation },
  ): Promise<ChatMessage[]> {
    const ofRequest = this.parts.of(opened);
    const parts: PreparedPart[] = [];
    for (const { part, param } of positions) parts.push(await ofRequest.prepare(part, param));
    const runs = parts.flatMap((part) => part.runs);
    // Nothing runs, and nothing is charged, before each job is within its limits.
    for (const run of runs) await run.limit();
    const texts = await runAll(messages, parts, { ...next, maxBytes: boundOf(opened) });
    const names = new Set(runs.map(({ input, modelId }) => `${input}=${modelId}`));
    void opened.http.reply.header('x-service-input-adapter', [...names].join(', '));
    return texts;
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

/** Returns the bytes of a text that is not shorter than the context: a token is at least one byte. */
function boundOf({ manifest }: ModelRequest): number {
  return manifest.contextLength ?? 0;
}

/** The messages of a request whose parts are turned into text. */
export class AdaptedMessages {
  /** The messages with a text in place of each part that is at least as long as what it becomes, up to the context. */
  readonly bounded: ChatMessage[];

  constructor(
    messages: ChatMessage[],
    private readonly positions: readonly AdaptedPosition[],
    boundBytes: number,
    private readonly work: (next: NextReservation) => Promise<ChatMessage[]>,
  ) {
    const placeholder = this.isEmpty ? '' : '.'.repeat(boundBytes);
    this.bounded = withTexts(messages, new Map(positions.map(({ part }) => [part, placeholder])));
  }

  /** The fields of the parts. */
  get params(): string[] {
    return this.positions.map(({ param }) => param);
  }

  get isEmpty(): boolean {
    return this.positions.length === 0;
  }

  /**
   * Runs the adapters one after the other and returns the messages with their texts. Sets `x-service-input-adapter`.
   * Rejects as `RequestParts.prepare` and the methods of its result do; jobs that ran before stay charged.
   */
  run(next: NextReservation): Promise<ChatMessage[]> {
    return this.work(next);
  }
}

/**
 * The first reservation also covers the jobs after it and the request itself, so that an account that cannot pay for all
 * is charged for nothing.
 */
async function runAll(
  messages: ChatMessage[],
  parts: readonly PreparedPart[],
  { minNano, maxBytes }: NextReservation & { maxBytes: number },
): Promise<ChatMessage[]> {
  const longest = parts.map(({ part, runs }) => {
    const bytes = runs.reduce((sum, run) => sum + run.maxBytes, 0);
    return [part, '.'.repeat(Math.min(maxBytes, bytes))] as const;
  });
  let leftNano = parts.flatMap(({ runs }) => runs).reduce((sum, { amountNano }) => sum + amountNano, 0n);
  leftNano += minNano(withTexts(messages, new Map(longest)));
  const texts = new Map<ChatPart, string>();
  for (const { part, runs, textOf } of parts) {
    const results: (readonly string[])[] = [];
    for (const run of runs) {
      results.push(await run.run(leftNano));
      leftNano -= run.amountNano;
    }
    texts.set(part, textOf(results));
  }
  return withTexts(messages, texts);
}
