import { Inject, Injectable } from '@nestjs/common';
import type { NanoUsd } from '#common';
import {
  InputTranscriber,
  type InputTranscription,
  invalidField,
  type ModelRequest,
  type RecordingInput,
  RequestPipeline,
} from '#gateway';
import { isDataUrl } from '#media';
import { ApiConfig } from '#platform/config';
import type { ChatAudioPart, ChatMessage, ChatPart, ChatVideoPart } from '../../contract/chat.message.js';
import { decodeAudioPart } from './audio-part.js';
import { checkPartCounts, findParts, type PartPosition, withTexts } from './content-parts.js';
import { describeTranscript, transcriptBytes } from './transcript-text.js';

/** A part that another model turns into text. */
type AdaptedPart = ChatAudioPart | ChatVideoPart;

/** Maximum number of parts in one request, by type. */
const maxParts: Record<AdaptedPart['type'], number> = { input_audio: 16, video_url: 3 };
/** Maximum length of one recording or video, in seconds. */
const maxSeconds = 1_800;
const adaptedTypes = new Set(['input_audio', 'video_url'] as const);

type AdaptedPosition = PartPosition<AdaptedPart>;

/** A part that is stored and measured. */
interface PreparedPart {
  part: AdaptedPart;
  modelId: string;
  transcription: InputTranscription;
}

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
  constructor(
    @Inject(RequestPipeline) private readonly pipeline: Pick<RequestPipeline, 'openInput'>,
    @Inject(InputTranscriber) private readonly transcriber: InputTranscriber,
    @Inject(ApiConfig) private readonly config: Pick<ApiConfig, 'chatDeadlineMs'>,
  ) {}

  /** Finds the parts to adapt. Throws `INVALID_REQUEST` for too many; nothing is decoded, fetched or run. */
  plan(messages: ChatMessage[], opened: ModelRequest): AdaptedMessages {
    const adapter = opened.manifest.inputAdapters?.audio;
    const positions = adapter === undefined ? [] : findParts(messages, adaptedTypes);
    checkPartCounts(positions, (type) => maxParts[type as AdaptedPart['type']]);
    return new AdaptedMessages(messages, positions, boundOf(opened), (next) =>
      this.run(messages, { positions, opened, next }),
    );
  }

  private async run(
    messages: ChatMessage[],
    { positions, opened, next }: { positions: AdaptedPosition[]; opened: ModelRequest; next: NextReservation },
  ): Promise<ChatMessage[]> {
    const parts: PreparedPart[] = [];
    for (const [index, position] of positions.entries()) {
      parts.push(await this.prepare(opened, position, index + 1));
    }
    // Nothing runs, and nothing is charged, before each job is within its limits.
    for (const { transcription } of parts) await transcription.limit();
    const texts = await transcribe(messages, parts, { ...next, maxBytes: boundOf(opened) });
    const names = new Set(parts.map(({ modelId }) => `audio=${modelId}`));
    void opened.http.reply.header('x-service-input-adapter', [...names].join(', '));
    return texts;
  }

  private async prepare(
    opened: ModelRequest,
    { part, param }: AdaptedPosition,
    position: number,
  ): Promise<PreparedPart> {
    const { field, ...content } = contentOf(part, param);
    const id = opened.manifest.inputAdapters?.audio ?? '';
    const model = await this.pipeline.openInput(opened.http, { id, type: 'asr', param, position });
    const recording = { ...content, param: field, maxSeconds, deadlineMs: this.config.chatDeadlineMs };
    const transcription = await this.transcriber.prepare(model, recording);
    return { part, modelId: model.manifest.id, transcription };
  }
}

/** Returns the bytes of a text that is not shorter than the context: a token is at least one byte. */
function boundOf({ manifest }: ModelRequest): number {
  return manifest.contextLength ?? 0;
}

type PartContent = Pick<RecordingInput, 'kind' | 'source' | 'containers' | 'contentTypes'> & { field: string };

/** Decodes a part, or checks its URL; `field` holds the content. */
function contentOf(part: AdaptedPart, param: string): PartContent {
  if (part.type === 'input_audio') {
    const { bytes, containers } = decodeAudioPart(part, param);
    return { kind: 'recording', source: { bytes }, containers, field: `${param}.input_audio.data` };
  }
  const field = `${param}.video_url.url`;
  const { url } = part.video_url;
  if (!isDataUrl(url) && !/^https?:/i.test(url)) throw invalidField(`${field} must be an http(s) or data URL.`, field);
  return { kind: 'video', source: { url }, containers: videoContainers, contentTypes: ['video/*'], field };
}

/** mp4 includes mov. */
const videoContainers = ['mp4', 'webm', 'mpeg', 'mpegts'] as const;

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

  get isEmpty(): boolean {
    return this.positions.length === 0;
  }

  /**
   * Runs the adapters one after the other and returns the messages with their texts. Sets `x-service-input-adapter`.
   * Rejects as `InputTranscriber.prepare` and the methods of its result do; parts that were transcribed before stay
   * charged.
   */
  run(next: NextReservation): Promise<ChatMessage[]> {
    return this.work(next);
  }
}

/**
 * The first reservation also covers the jobs after it and the request itself, so that an account that cannot pay for all
 * is charged for nothing.
 */
async function transcribe(
  messages: ChatMessage[],
  parts: readonly PreparedPart[],
  { minNano, maxBytes }: NextReservation & { maxBytes: number },
): Promise<ChatMessage[]> {
  const longest = parts.map(({ part, transcription }) => {
    const bytes = Math.min(maxBytes, transcriptBytes(transcription.seconds));
    return [part, '.'.repeat(bytes)] as const;
  });
  let leftNano = parts.reduce((sum, { transcription }) => sum + transcription.amountNano, 0n);
  leftNano += minNano(withTexts(messages, new Map(longest)));
  const texts = new Map<ChatPart, string>();
  for (const { part, transcription } of parts) {
    texts.set(part, describeTranscript(part.type, await transcription.run(leftNano)));
    leftNano -= transcription.amountNano;
  }
  return withTexts(messages, texts);
}
