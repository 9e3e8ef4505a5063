import { Controller, Inject, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PlatformError } from '#common';
import { ClientDisconnectedError, type InferenceServices, inferenceServices, modelHeaders } from '#gateway';
import { Billed, callerOf, disconnectSignal, LimitedByModel, Multipart, readBody } from '#platform/http';
import { discard } from '#storage';
import { maxFileBytes, TranscriptionRequest } from '../contract/transcription.request.js';
import { VideoTranscriptionRequest } from '../contract/video-transcription.request.js';
import { RecordingInputReader, type TakenRecording } from './recording-input-reader.js';
import { runTranscription, type TranscriptionOrder } from './run-transcription.js';
import { TranscriptionApiDocument, VideoTranscriptionApiDocument } from './transcription.document.js';
import { normalizeTranscription, type NormalizedTranscription } from './transcription.normalizer.js';
import {
  presentTranscript,
  presentVideoTranscript,
  type Transcript,
  type TranscriptionResult,
} from './transcription.presenter.js';

/** Trait of the model that is meant where a request names none. */
const defaultModel = 'default';
/** A video is fetched by us, not sent: it may be larger than an upload. */
const maxVideoBytes = 200 * 1024 * 1024;
const fetchTimeoutMs = 120_000;

@Controller()
export class TranscriptionController {
  constructor(@Inject(inferenceServices) private readonly services: InferenceServices) {}

  @Post('audio/transcriptions')
  @Billed()
  @LimitedByModel()
  @Multipart({ maxFileBytes: maxFileBytes, maxFiles: 1, only: true })
  @TranscriptionApiDocument()
  async transcribe(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const disconnected = disconnectSignal(reply);
    const wire = readBody(TranscriptionRequest, request);
    const normalized = normalizeTranscription(wire);
    const admitted = await this.admit(request, reply, wire.model);
    const inputReader = new RecordingInputReader(this.services, 'file');
    await this.answer(reply, {
      take: () => inputReader.take(wire.file.bytes, { maxBytes: maxFileBytes, signal: disconnected }),
      order: { ...admitted, disconnected, wishes: normalized.wishes },
      present: (transcript) => presentTranscript(transcript, normalized),
    });
  }

  @Post('video/transcriptions')
  @Billed()
  @LimitedByModel()
  @VideoTranscriptionApiDocument()
  async transcribeVideo(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const disconnected = disconnectSignal(reply);
    const wire = readBody(VideoTranscriptionRequest, request);
    const admitted = await this.admit(request, reply, undefined);
    const inputReader = new RecordingInputReader(this.services, 'url');
    const wishes: NormalizedTranscription['wishes'] = {
      language: null,
      prompt: null,
      temperature: null,
      timestamps: 'none',
    };
    await this.answer(reply, {
      take: async () => {
        const limits = { maxBytes: maxVideoBytes, param: 'url', signal: disconnected };
        const { body } = await this.services.egress.open({ url: wire.url, timeoutMs: fetchTimeoutMs, ...limits });
        return await inputReader.take(body, limits);
      },
      order: { ...admitted, disconnected, wishes },
      present: (transcript) => presentVideoTranscript(transcript, wire.response_format ?? 'json'),
    });
  }

  /** The model, if it is there and the caller's limits let the request through. */
  private async admit(
    request: FastifyRequest,
    reply: FastifyReply,
    model = '',
  ): Promise<Omit<TranscriptionOrder, 'recording' | 'wishes' | 'disconnected'>> {
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
      present: (transcript: Transcript) => TranscriptionResult;
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
      if (!(error instanceof ClientDisconnectedError) && !order.disconnected.aborted) throw error;
      reply.hijack();
    }
  }
}
