import { Controller, Inject, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PlatformError } from '#common';
import { CallerGone, type InferenceServices, inferenceServices, modelHeaders } from '#jobs';
import type { ResolvedModel } from '#model-registry';
import { Billed, callerOf, goneSignal, Multipart, readBody } from '#platform/http';
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
  @Multipart({ maxFileBytes: mostFileBytes, maxFiles: 1, only: true })
  @TranscriptionApiDocument()
  async transcribe(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const gone = goneSignal(reply);
    const wire = readBody(TranscriptionRequest, request);
    const normalized = normalizeTranscription(wire);
    const resolved = await this.resolve(request, reply, wire.model);
    const intake = new RecordingIntake(this.services, 'file');
    await this.answer(reply, {
      take: () => intake.take(wire.file.bytes, { maxBytes: mostFileBytes, signal: gone }),
      order: { ...this.orderOf(request, reply, resolved), gone, wishes: normalized.wishes },
      present: (transcript) => presentTranscript(transcript, normalized),
    });
  }

  @Post('video/transcriptions')
  @Billed()
  @VideoTranscriptionApiDocument()
  async transcribeVideo(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const gone = goneSignal(reply);
    const wire = readBody(VideoTranscriptionRequest, request);
    const resolved = await this.resolve(request, reply, undefined);
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
      order: { ...this.orderOf(request, reply, resolved), gone, wishes },
      present: (transcript) => presentVideoTranscript(transcript, wire.response_format ?? 'json'),
    });
  }

  private async resolve(request: FastifyRequest, reply: FastifyReply, model = ''): Promise<ResolvedModel> {
    // Forms send an empty text for what was not filled in.
    const resolved = await this.services.resolve(model === '' ? defaultModel : model, 'asr', request.headers);
    void reply.headers(modelHeaders(resolved));
    if (!resolved.offline) return resolved;
    const { id } = resolved.manifest;
    throw new PlatformError('MODEL_OFFLINE', `No worker holds the model ${id} at the moment.`, 'model');
  }

  private orderOf(request: FastifyRequest, reply: FastifyReply, resolved: ResolvedModel) {
    return {
      requestId: request.id,
      caller: callerOf(request),
      resolved,
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
        await this.services.artifacts.delete(recording.artifactId);
      }
    } catch (error) {
      // Nobody is left to read an answer.
      if (!(error instanceof CallerGone) && !order.gone.aborted) throw error;
      reply.hijack();
    }
  }
}
