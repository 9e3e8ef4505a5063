import { Module } from '@nestjs/common';
import { GatewayModule } from '#gateway';
import { EmbeddingController } from './embedding.controller.js';
import { InputTextEmbedder } from './input-text-embedder.js';

/** The routes of embeddings, and the embedder of chats. */
@Module({
  imports: [GatewayModule],
  controllers: [EmbeddingController],
  providers: [InputTextEmbedder],
  exports: [InputTextEmbedder],
})
export class EmbeddingModule {}
