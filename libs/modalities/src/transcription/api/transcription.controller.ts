import { Controller, Inject, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { type HttpExchange, MediaArtifacts, ModelRoute, RequestPipeline } from '#gateway';
import { WireBody } from '#platform/http';
import type { TranscriptionEvent } from '../contract/transcription.events.js';
import { transcriptionJob, type TranscriptionJobPayload } from '../contract/transcription.job.js';
import { boundTranscription, quoteTranscription } from '../contract/transcription.meter.js';
import { maxFileBytes, TranscriptionRequest } from '../contract/transcription.request.js';
import { TranslationRequest } from '../contract/translation.request.js';
import { VideoTranscriptionRequest } from '../contract/video-transcription.request.js';
import { readRecording, type RecordingSource } from './recording-input.js';
import { TranscriptStreamPresenter } from './transcript-stream.presenter.js';
import { transcriptionDocument, translationDocument, videoTranscriptionDocument } from './transcription.document.js';
import {
  normalizeTranscription,
  type NormalizedTranscription,
  normalizeTranslation,
  plainTranscript,
  requireTranslation,
} from './transcription.normalizer.js';
import { presentTranscript, presentVideoTranscript, Transcript } from './transcription.presenter.js';

/** A transcription that is within its limits and stored. */
interface PreparedTranscription {
  collect(): Promise<Transcript>;
  /** Sends the text as events. */
  stream(): Promise<void>;
}

@Controller()
export class TranscriptionController {
  constructor(
    @Inject(RequestPipeline) private readonly pipeline: RequestPipeline,
    @Inject(MediaArtifacts) private readonly artifacts: MediaArtifacts,
  ) {}

  @Post('audio/transcriptions')
  @ModelRoute(transcriptionDocument, { multipart: { maxFileBytes, maxFiles: 1, only: true } })
  async transcribe(
    @WireBody(TranscriptionRequest) wire: TranscriptionRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.pipeline.handle(reply, async (http) => {
      const normalized = normalizeTranscription(wire);
      const { collect, stream } = await this.prepare(http, wire.model, normalized, { upload: wire.file.bytes });
      if (normalized.streams) return await stream();
      const transcript = await collect();
      const { contentType, body } = presentTranscript(transcript, normalized);
      void reply.type(contentType);
      return body;
    });
  }

  @Post('audio/translations')
  @ModelRoute(translationDocument, { multipart: { maxFileBytes, maxFiles: 1, only: true } })
  async translate(@WireBody(TranslationRequest) wire: TranslationRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.pipeline.handle(reply, async (http) => {
      const normalized = normalizeTranslation(wire);
      const { collect } = await this.prepare(http, wire.model, normalized, { upload: wire.file.bytes });
      const transcript = await collect();
      const { contentType, body } = presentTranscript(transcript, normalized);
      void reply.type(contentType);
      return body;
    });
  }

  @Post('video/transcriptions')
  @ModelRoute(videoTranscriptionDocument)
  async transcribeVideo(
    @WireBody(VideoTranscriptionRequest) wire: VideoTranscriptionRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.pipeline.handle(reply, async (http) => {
      const { collect } = await this.prepare(http, undefined, { options: plainTranscript }, { url: wire.url });
      const transcript = await collect();
      const { contentType, body } = presentVideoTranscript(transcript, wire.response_format ?? 'json');
      void reply.type(contentType);
      return body;
    });
  }

  /** Stores the recording and makes the job of it, which either of the results runs. */
  private async prepare(
    http: HttpExchange,
    name: string | undefined,
    { options }: Pick<NormalizedTranscription, 'options'>,
    source: RecordingSource,
  ): Promise<PreparedTranscription> {
    // Forms send an empty text for an empty field.
    const opened = await this.pipeline.open(http, { name: name || undefined, type: 'asr' });
    if (options.translate === true) requireTranslation(opened.manifest);
    const limited = await opened.limit();
    const { artifactId, quotedSeconds } = await readRecording(this.artifacts, opened, source);
    const amountNano = quoteTranscription(quotedSeconds, limited.price.pricing);
    const payload = { ...options, artifactId, maxSeconds: quotedSeconds };
    const bounds = boundTranscription(quotedSeconds);
    const order = { definition: transcriptionJob, payload, bounds, amountNano };
    return {
      collect: async () => (await limited.collect(order, () => new Transcript())).collected,
      stream: async () => {
        const job = await limited.start<TranscriptionJobPayload, TranscriptionEvent>(order, { stream: true });
        await this.pipeline.stream(http, job, new TranscriptStreamPresenter());
      },
    };
  }
}
