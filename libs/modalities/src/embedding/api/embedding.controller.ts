import { Controller, Inject, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { noTokens } from '#common';
import { ModelRoute, RequestPipeline } from '#gateway';
import { WireBody } from '#platform/http';
import { embeddingJob } from '../contract/embedding.job.js';
import { maxEmbeddingTokens, quoteEmbedding } from '../contract/embedding.meter.js';
import { EmbeddingRequest } from '../contract/embedding.request.js';
import { embeddingDocument } from './embedding.document.js';
import { embeddingMembers, normalizeEmbedding } from './embedding.normalizer.js';
import { EmbeddingCollector, presentEmbeddings } from './embedding.presenter.js';

@Controller()
export class EmbeddingController {
  constructor(@Inject(RequestPipeline) private readonly pipeline: RequestPipeline) {}

  @Post('embeddings')
  @ModelRoute(embeddingDocument)
  async embed(@WireBody(EmbeddingRequest) wire: EmbeddingRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.pipeline.handle(reply, async (http) => {
      const opened = await this.pipeline.open(http, { name: wire.model, type: 'embedding' });
      const members = embeddingMembers(opened.manifest);
      const payload = normalizeEmbedding(wire, members, opened.manifest.familyOptions);
      const limited = await opened.limit();
      const pricing = limited.price.pricing;
      const tariff = { maxInputTokens: members.maxInputTokens, pricing };
      const bounds = { ...noTokens, promptTokens: maxEmbeddingTokens(payload, tariff) };
      const amountNano = quoteEmbedding(payload, tariff);
      const { collected, usage } = await limited.collect(
        { definition: embeddingJob, payload, bounds, amountNano },
        () => new EmbeddingCollector(payload.tokenIds?.length ?? payload.texts.length),
      );
      void reply.type('application/json; charset=utf-8');
      return await presentEmbeddings({
        modelId: opened.manifest.id,
        vectors: collected.all(),
        format: wire.encoding_format ?? 'float',
        promptTokens: usage.promptTokens,
      });
    });
  }
}
