import { Controller, Inject, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { PlatformError } from '#common';
import { ModelRoute, RequestPipeline } from '#gateway';
import { MediaTools } from '#media';
import { callerOf, WireBody } from '#platform/http';
import { maxSampleBytes, VoiceRequest } from '../contract/voice.request.js';
import type { VoiceResponse } from '../contract/voice.response.js';
import { voicesDocument } from './speech.document.js';
import { speechModel, type SpeechModel, type VoiceCloning } from './speech.model.js';
import { checkVoiceSample } from './voice-sample.js';
import { VoicesService } from './voices.service.js';

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
    @Inject(RequestPipeline) private readonly pipeline: RequestPipeline,
    @Inject(MediaTools) private readonly media: MediaTools,
    @Inject(VoicesService) private readonly voices: VoicesService,
  ) {}

  @Post('voices')
  @ModelRoute(voicesDocument, { multipart: { maxFileBytes: maxSampleBytes, maxFiles: 1, only: true } })
  async create(@WireBody(VoiceRequest) { file, model: name }: VoiceRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.pipeline.handle(reply, async (http): Promise<VoiceResponse> => {
      // Forms send an empty text for what was not filled in.
      const opened = await this.pipeline.open(http, { name: name || undefined, type: 'tts' });
      const model = cloningModel(speechModel(opened.manifest));
      // A sample is stored, so no worker needs to be there.
      await opened.limit({ needsWorker: false });
      await checkVoiceSample(file.bytes, model.cloning, { media: this.media, signal: http.disconnected });
      const recording = { bytes: file.bytes, contentType: 'application/octet-stream' };
      const voice = await this.voices.add(recording, { accountId: callerOf(reply.request).accountId, model });
      return { id: voice.id, model: model.id };
    });
  }
}
