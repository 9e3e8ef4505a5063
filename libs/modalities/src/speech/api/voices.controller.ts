import { Controller, Post } from '@nestjs/common';
import { invalidField, ModelRoute, RequestPipeline } from '#gateway';
import { containerNamed, identifyMedia, measureAudio, MediaTools } from '#media';
import type { VoiceCloning } from '#model-registry/manifest';
import { Exchange, type HttpExchange, RequestBody } from '#platform/http';
import { PlatformError } from '#common';
import { maxSampleBytes, VoiceRequest } from '../contract/voice.request.js';
import type { VoiceResponse } from '../contract/voice.response.js';
import { voicesDocument } from './speech.document.js';
import { speechModel, type SpeechModel } from './speech.model.js';
import { VoicesService } from './voices.service.js';

/** Maximum length of a voice recording, in seconds. */
const maxSampleSeconds = 60;

/**
 * Checks that the model takes a recording. Throws `INVALID_AUDIO_FORMAT` for another container or no audio,
 * `INVALID_REQUEST` for one that is too short, `PAYLOAD_TOO_LARGE` for one that is too long.
 */
async function checkVoiceSample(
  bytes: Buffer,
  cloning: VoiceCloning,
  { media, signal }: { media: MediaTools; signal: AbortSignal },
): Promise<void> {
  const { container } = await identifyMedia(bytes);
  if (container === null || !cloning.accepted_formats.map(containerNamed).includes(container)) {
    const formats = cloning.accepted_formats.join(', ');
    throw new PlatformError('INVALID_AUDIO_FORMAT', `The recording must be one of: ${formats}.`, 'file');
  }
  const seconds = await measureAudio(media, bytes, { maxSeconds: maxSampleSeconds, signal });
  if (seconds >= cloning.min_sample_seconds) return;
  const message = `The recording must last at least ${cloning.min_sample_seconds} seconds; this one lasts ${seconds.toFixed(1)}.`;
  throw invalidField(message, 'file', 'too_small');
}

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
