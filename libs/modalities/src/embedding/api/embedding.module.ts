import { Module } from '@nestjs/common';
import { GatewayModule } from '#gateway';
import { EmbeddingController } from './embedding.controller.js';

/** The routes of embeddings. */
@Module({ imports: [GatewayModule], controllers: [EmbeddingController] })
export class EmbeddingModule {}
