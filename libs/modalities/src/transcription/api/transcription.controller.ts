import { Controller, Post } from '@nestjs/common';
import { MediaArtifacts, ModelRoute, RequestPipeline } from '#gateway';
import { Exchange, type HttpExchange, type StreamedResponse, RequestBody } from '#platform/http';
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
  requireSupported,
} from './transcription.normalizer.js';
import {
  presentTranscript,
  presentVideoTranscript,
  Transcript,
  type TranscriptionResult,
} from './transcription.presenter.js';

/** A transcription that is within its limits and stored. */
interface PreparedTranscription {
  collect(): Promise<Transcript>;
  /** Returns the text as events. */
  stream(): Promise<StreamedResponse>;
}

@Controller()
export class TranscriptionController {
  constructor(
    private readonly pipeline: RequestPipeline,
    private readonly artifacts: MediaArtifacts,
  ) {}

  @Post('audio/transcriptions')
  @ModelRoute(transcriptionDocument, { multipart: { maxFileBytes, maxFiles: 1, only: true } })
  async transcribe(
    @RequestBody(TranscriptionRequest) body: TranscriptionRequest,
    @Exchange() http: HttpExchange,
  ): Promise<TranscriptionResult['body'] | StreamedResponse> {
    const normalized = normalizeTranscription(body);
    const { collect, stream } = await this.prepare(http, body.model, normalized, { upload: body.file.bytes });
    if (normalized.streams) return await stream();
    return respond(http, presentTranscript(await collect(), normalized));
  }

  @Post('audio/translations')
  @ModelRoute(translationDocument, { multipart: { maxFileBytes, maxFiles: 1, only: true } })
  async translate(
    @RequestBody(TranslationRequest) body: TranslationRequest,
    @Exchange() http: HttpExchange,
  ): Promise<TranscriptionResult['body']> {
    const normalized = normalizeTranslation(body);
    const { collect } = await this.prepare(http, body.model, normalized, { upload: body.file.bytes });
    return respond(http, presentTranscript(await collect(), normalized));
  }

  @Post('video/transcriptions')
  @ModelRoute(videoTranscriptionDocument)
  async transcribeVideo(
    @RequestBody(VideoTranscriptionRequest) body: VideoTranscriptionRequest,
    @Exchange() http: HttpExchange,
  ): Promise<TranscriptionResult['body']> {
    const { collect } = await this.prepare(http, undefined, { options: plainTranscript }, { url: body.url });
    return respond(http, presentVideoTranscript(await collect(), body.response_format ?? 'json'));
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
    requireSupported(opened.manifest, options);
    const limited = await opened.limit();
    const { artifactId, quotedSeconds } = await readRecording(this.artifacts, opened, source);
    const amountNano = quoteTranscription(quotedSeconds, limited.price.pricing);
    const payload = { ...options, artifactId, maxSeconds: quotedSeconds };
    const bounds = boundTranscription(quotedSeconds);
    const jobSpec = { definition: transcriptionJob, payload, bounds, amountNano };
    return {
      collect: async () => (await limited.collect(jobSpec, () => new Transcript())).collected,
      stream: async () => {
        const job = await limited.start<TranscriptionJobPayload, TranscriptionEvent>(jobSpec, { stream: true });
        return this.pipeline.stream(job, new TranscriptStreamPresenter());
      },
    };
  }
}

/** Sets the type of a transcript and returns its body. */
function respond(http: HttpExchange, { contentType, body }: TranscriptionResult): TranscriptionResult['body'] {
  http.setHeaders({ 'content-type': contentType });
  return body;
}
