import { Module } from '@nestjs/common';
import { GatewayModule } from '#gateway';
import { RerankController } from './rerank.controller.js';

/** The routes of rerankers. */
@Module({ imports: [GatewayModule], controllers: [RerankController] })
export class RerankModule {}
