import type { Type } from '@nestjs/common';
import { ApiKeysController, Web3KeysController } from '#accounts/api';
import { BillingController } from '#billing/api';
import { ModelsController } from '#model-registry/api';
import { RateLimitsController } from '#rate-limit/api';
import type { ControllersOf } from '#modalities';
import { AudioController } from '#modalities/audio/api';
import { ChatController } from '#modalities/chat/api';
import { EmbeddingController } from '#modalities/embedding/api';
import { EditImageController, GenerateImageController } from '#modalities/image/api';
import { SpeechController, VoicesController } from '#modalities/speech/api';
import { TranscriptionController } from '#modalities/transcription/api';
import { VideoController } from '#modalities/video/api';

/** The routes of each slice; one that is left out does not compile. */
const sliceControllers = {
  audio: [AudioController],
  chat: [ChatController],
  embedding: [EmbeddingController],
  image: [EditImageController, GenerateImageController],
  speech: [SpeechController, VoicesController],
  transcription: [TranscriptionController],
  video: [VideoController],
} satisfies ControllersOf<Type<object>[]>;

/** Everything under `/api/v1`. */
export const apiControllers: Type<object>[] = [
  ModelsController,
  Web3KeysController,
  RateLimitsController,
  ApiKeysController,
  BillingController,
  ...Object.values(sliceControllers).flat(),
];
