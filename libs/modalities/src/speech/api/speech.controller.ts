import { Controller, Post, type StreamableFile } from '@nestjs/common';
import { noTokens } from '#common';
import { AudioRelays, ModelRoute, RequestPipeline } from '#gateway';
import { audioContentTypes, withAudioLength } from '#media';
import { Exchange, type HttpExchange, RequestBody } from '#platform/http';
import type { SpeechEvent } from '../contract/speech.events.js';
import { speechJob, type SpeechJobPayload } from '../contract/speech.job.js';
import { countCharacters, quoteSpeech } from '../contract/speech.meter.js';
import { SpeechRequest } from '../contract/speech.request.js';
import { speechDocument } from './speech.document.js';
import { speechModel } from './speech.model.js';
import { normalizeSpeech, unknownVoice } from './speech.normalizer.js';
import { VoicesService } from './voices.service.js';

@Controller('audio')
export class SpeechController {
  constructor(
    private readonly pipeline: RequestPipeline,
    private readonly relays: AudioRelays,
    private readonly voices: VoicesService,
  ) {}

  @Post('speech')
  @ModelRoute(speechDocument)
  async speak(
    @RequestBody(SpeechRequest) body: SpeechRequest,
    @Exchange() http: HttpExchange,
  ): Promise<StreamableFile> {
    const opened = await this.pipeline.open(http, { name: body.model || undefined, type: 'tts' });
    const model = speechModel(opened.manifest);
    const { payload, handle, streaming } = normalizeSpeech(body, model);
    const limited = await opened.limit();
    const { accountId } = http.caller;
    if (handle !== null) {
      payload.sampleId = await this.voices.sampleOf(accountId, handle, model.id);
      if (payload.sampleId === null) throw unknownVoice(model);
    }
    const amountNano = quoteSpeech(payload.text, limited.price.pricing);
    const bounds = { ...noTokens, units: { characters: countCharacters(payload.text) } };
    const jobSpec = { definition: speechJob, payload, bounds, amountNano };
    const job = await limited.start<SpeechJobPayload, SpeechEvent>(jobSpec, { stream: streaming });
    const { format } = payload;
    return await this.relays.open(http, job, {
      contentType: audioContentTypes[format],
      streaming,
      withLength: (head, length) => withAudioLength(head, { format, ...length }),
      ...(handle !== null && { onSuccess: () => this.voices.used(accountId, handle, model) }),
    });
  }
}
