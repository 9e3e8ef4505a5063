import type { Type } from '@nestjs/common';
import { AccountsApiModule } from '#accounts/api';
import { BillingApiModule } from '#billing/api';
import { CharactersApiModule } from '#characters/api';
import { GatewayModule } from '#gateway';
import type { ControllersOf } from '#modalities';
import { AudioModule } from '#modalities/audio/api';
import { ChatModule } from '#modalities/chat/api';
import { EmbeddingModule } from '#modalities/embedding/api';
import { ImageModule } from '#modalities/image/api';
import { RerankModule } from '#modalities/rerank/api';
import { SpeechModule } from '#modalities/speech/api';
import { TranscriptionModule } from '#modalities/transcription/api';
import { VideoModule } from '#modalities/video/api';
import { ModelsApiModule } from '#model-registry/api';
import { PaymentsApiModule } from '#payments/api';
import { RateLimitsApiModule } from '#rate-limit/api';

/** Controllers of each slice. A slice without an entry does not compile. */
const sliceModules = {
  audio: AudioModule,
  chat: ChatModule,
  embedding: EmbeddingModule,
  image: ImageModule,
  rerank: RerankModule,
  speech: SpeechModule,
  transcription: TranscriptionModule,
  video: VideoModule,
} satisfies ControllersOf<Type<object>>;

/** Every module whose controllers are under `/api/v1`. */
export const routeModules: Type<object>[] = [
  ModelsApiModule,
  CharactersApiModule,
  RateLimitsApiModule,
  AccountsApiModule,
  BillingApiModule,
  PaymentsApiModule,
  GatewayModule,
  ...Object.values(sliceModules),
];
