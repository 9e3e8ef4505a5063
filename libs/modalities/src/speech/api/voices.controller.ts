import { Controller, Post } from '@nestjs/common';
import { invalidField, ModelRoute, RequestPipeline } from '#gateway';
import { MediaTools } from '#media';
import type { VoiceCloning } from '#model-registry/manifest';
import { Exchange, type HttpExchange, RequestBody } from '#platform/http';
import { maxSampleBytes, VoiceRequest } from '../contract/voice.request.js';
import type { VoiceResponse } from '../contract/voice.response.js';
import { voicesDocument } from './speech.document.js';
import { speechModel, type SpeechModel } from './speech.model.js';
import { checkVoiceSample } from './voice-sample.js';
import { VoicesService } from './voices.service.js';

/** Returns the model as one that clones voices. Throws `INVALID_REQUEST` for others. */
function cloningModel(model: SpeechModel): SpeechModel & { cloning: VoiceCloning } {
  const { cloning } = model;
  if (cloning !== null) return { ...model, cloning };
  throw invalidField(`The model ${model.id} does not clone voices.`, 'model', 'unsupported');
}

@Controller('audio')
export class VoicesController {
  constructor(
    private readonly pipeline: RequestPipeline,
    private readonly media: MediaTools,
    private readonly voices: VoicesService,
  ) {}

  @Post('voices')
  @ModelRoute(voicesDocument, { multipart: { maxFileBytes: maxSampleBytes, maxFiles: 1, only: true } })
  async create(
    @RequestBody(VoiceRequest) { file, model: name }: VoiceRequest,
    @Exchange() http: HttpExchange,
  ): Promise<VoiceResponse> {
    // Forms send an empty text for an empty field.
    const opened = await this.pipeline.open(http, { name: name || undefined, type: 'tts' });
    const model = cloningModel(speechModel(opened.manifest));
    // The sample is only stored, so no worker is needed.
    await opened.limit({ needsWorker: false });
    await checkVoiceSample(file.bytes, model.cloning, { media: this.media, signal: http.disconnected });
    const recording = { bytes: file.bytes, contentType: 'application/octet-stream' };
    const voice = await this.voices.add(recording, { accountId: http.caller.accountId, model });
    return { id: voice.id, model: model.id };
  }
}
