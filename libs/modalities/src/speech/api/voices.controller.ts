import { Controller, Inject, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PlatformError } from '#common';
import { type InferenceServices, inferenceServices, modelHeaders } from '#gateway';
import { Billed, callerOf, disconnectSignal, LimitedByModel, Multipart, readBody } from '#platform/http';
import { maxSampleBytes, VoiceRequest } from '../contract/voice.request.js';
import type { VoiceResponse } from '../contract/voice.response.js';
import { VoicesApiDocument } from './speech.document.js';
import { speechModel, type SpeechModel, type VoiceCloning } from './speech.model.js';
import { checkVoiceSample } from './voice-sample.js';
import { VoicesService } from './voices.service.js';

const defaultModel = 'default';

/** The model as one that clones; throws `INVALID_REQUEST` for others. */
function cloningModel(model: SpeechModel): SpeechModel & { cloning: VoiceCloning } {
  const { cloning } = model;
  if (cloning !== null) return { ...model, cloning };
  const message = `The model ${model.id} does not clone voices.`;
  const issues = [{ code: 'unsupported', path: ['model'], message }];
  throw new PlatformError('INVALID_REQUEST', message, 'model', { issues });
}

@Controller('audio')
export class VoicesController {
  constructor(
    @Inject(inferenceServices) private readonly services: InferenceServices,
    @Inject(VoicesService) private readonly voices: VoicesService,
  ) {}

  @Post('voices')
  @Billed()
  @LimitedByModel()
  @Multipart({ maxFileBytes: maxSampleBytes, maxFiles: 1, only: true })
  @VoicesApiDocument()
  async create(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const signal = disconnectSignal(reply);
    const { file, model: name = '' } = readBody(VoiceRequest, request);
    // Forms send an empty text for what was not filled in.
    const resolved = await this.services.resolve(name === '' ? defaultModel : name, 'tts', request);
    void reply.headers(modelHeaders(resolved));
    const model = cloningModel(speechModel(resolved.manifest));
    await this.services.limit({ request, reply }, { model: resolved.manifest });
    await checkVoiceSample(file.bytes, model.cloning, { media: this.services.media, signal });
    const recording = { bytes: file.bytes, contentType: 'application/octet-stream' };
    const { accountId } = callerOf(request);
    const voice = await this.voices.add(recording, { accountId, model });
    const answer: VoiceResponse = { id: voice.id, model: model.id };
    void reply.status(200).send(answer);
  }
}
