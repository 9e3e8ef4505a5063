import { Controller, Inject, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PlatformError } from '#common';
import { CallerGone, type InferenceServices, inferenceServices, modelHeaders } from '#jobs/api';
import { Billed, callerOf, goneSignal, LimitedByModel, Multipart, readBody } from '#platform/http';
import { discard } from '#storage';
import { mostFileBytes, TranscriptionRequest } from '../contract/transcription.request.js';
import { VideoTranscriptionRequest } from '../contract/video-transcription.request.js';
import { RecordingIntake, type TakenRecording } from './recording-intake.js';
import { runTranscription, type TranscriptionOrder } from './run-transcription.js';
import { TranscriptionApiDocument, VideoTranscriptionApiDocument } from './transcription.document.js';
import { normalizeTranscription, type NormalizedTranscription } from './transcription.normalizer.js';
import {
  presentTranscript,
  presentVideoTranscript,
  type Transcript,
  type TranscriptionAnswer,
} from './transcription.presenter.js';

/** Trait of the model that is meant where a request names none. */
const defaultModel = 'default';
/** A video is fetched by us, not sent: it may be larger than an upload. */
const mostVideoBytes = 200 * 1024 * 1024;
const fetchTimeoutMs = 120_000;

@Controller()
export class TranscriptionController {
  constructor(@Inject(inferenceServices) private readonly services: InferenceServices) {}

  @Post('audio/transcriptions')
  @Billed()
  @LimitedByModel()
  @Multipart({ maxFileBytes: mostFileBytes, maxFiles: 1, only: true })
  @TranscriptionApiDocument()
  async transcribe(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const gone = goneSignal(reply);
    const wire = readBody(TranscriptionRequest, request);
    const normalized = normalizeTranscription(wire);
    const admitted = await this.admit(request, reply, wire.model);
    const intake = new RecordingIntake(this.services, 'file');
    await this.answer(reply, {
      take: () => intake.take(wire.file.bytes, { maxBytes: mostFileBytes, signal: gone }),
      order: { ...admitted, gone, wishes: normalized.wishes },
      present: (transcript) => presentTranscript(transcript, normalized),
    });
  }

  @Post('video/transcriptions')
  @Billed()
  @LimitedByModel()
  @VideoTranscriptionApiDocument()
  async transcribeVideo(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const gone = goneSignal(reply);
    const wire = readBody(VideoTranscriptionRequest, request);
    const admitted = await this.admit(request, reply, undefined);
    const intake = new RecordingIntake(this.services, 'url');
    const wishes: NormalizedTranscription['wishes'] = {
      language: null,
      prompt: null,
      temperature: null,
      timestamps: 'none',
    };
    await this.answer(reply, {
      take: async () => {
        const limits = { maxBytes: mostVideoBytes, param: 'url', signal: gone };
        const { body } = await this.services.egress.open({ url: wire.url, timeoutMs: fetchTimeoutMs, ...limits });
        return await intake.take(body, limits);
      },
      order: { ...admitted, gone, wishes },
      present: (transcript) => presentVideoTranscript(transcript, wire.response_format ?? 'json'),
    });
  }

  /** The model, if it is there and the caller's limits let the request through. */
  private async admit(
    request: FastifyRequest,
    reply: FastifyReply,
    model = '',
  ): Promise<Omit<TranscriptionOrder, 'recording' | 'wishes' | 'gone'>> {
    // Forms send an empty text for what was not filled in.
    const resolved = await this.services.resolve(model === '' ? defaultModel : model, 'asr', request);
    void reply.headers(modelHeaders(resolved));
    const { manifest } = resolved;
    if (resolved.offline) {
      throw new PlatformError('MODEL_OFFLINE', `No worker holds the model ${manifest.id} at the moment.`, 'model');
    }
    const { tokenReservation } = await this.services.limit({ request, reply }, { model: manifest });
    return {
      requestId: request.id,
      caller: callerOf(request),
      modelId: manifest.id,
      tokenReservation,
      onHeaders: (headers: Record<string, string>) => void reply.headers(headers),
    };
  }

  /** The recording lives for as long as its job. */
  private async answer(
    reply: FastifyReply,
    {
      take,
      order,
      present,
    }: {
      take: () => Promise<TakenRecording>;
      order: Omit<TranscriptionOrder, 'recording'>;
      present: (transcript: Transcript) => TranscriptionAnswer;
    },
  ): Promise<void> {
    try {
      const recording = await take();
      try {
        const transcript = await runTranscription(this.services, { ...order, recording });
        const { contentType, body } = present(transcript);
        void reply.status(200).type(contentType).send(body);
      } finally {
        await discard(this.services.artifacts, [recording.artifactId]);
      }
    } catch (error) {
      // Nobody is left to read an answer.
      if (!(error instanceof CallerGone) && !order.gone.aborted) throw error;
      reply.hijack();
    }
  }
}
