import { Controller, Post } from '@nestjs/common';
import { noTokens } from '#common';
import { ModelRoute, RequestPipeline } from '#gateway';
import { Exchange, type HttpExchange, RequestBody } from '#platform/http';
import { embeddingJob } from '../contract/embedding.job.js';
import { maxEmbeddingTokens, quoteEmbedding } from '../contract/embedding.meter.js';
import { EmbeddingRequest } from '../contract/embedding.request.js';
import { embeddingDocument } from './embedding.document.js';
import { embeddingMembers, normalizeEmbedding } from './embedding.normalizer.js';
import { EmbeddingCollector, presentEmbeddings } from './embedding.presenter.js';

@Controller()
export class EmbeddingController {
  constructor(private readonly pipeline: RequestPipeline) {}

  @Post('embeddings')
  @ModelRoute(embeddingDocument)
  async embed(@RequestBody(EmbeddingRequest) body: EmbeddingRequest, @Exchange() http: HttpExchange): Promise<string> {
    const opened = await this.pipeline.open(http, { name: body.model, type: 'embedding' });
    const members = embeddingMembers(opened.manifest);
    const payload = normalizeEmbedding(body, members, opened.manifest.familyOptions);
    const limited = await opened.limit();
    const pricing = limited.price.pricing;
    const limits = { maxInputTokens: members.maxInputTokens, pricing };
    const bounds = { ...noTokens, promptTokens: maxEmbeddingTokens(payload, limits) };
    const amountNano = quoteEmbedding(payload, limits);
    const { collected, usage } = await limited.collect(
      { definition: embeddingJob, payload, bounds, amountNano },
      () => new EmbeddingCollector(payload.tokenIds?.length ?? payload.texts.length),
    );
    http.setHeaders({ 'content-type': 'application/json; charset=utf-8' });
    return await presentEmbeddings({
      modelId: opened.manifest.id,
      vectors: collected.all(),
      format: body.encoding_format ?? 'float',
      promptTokens: usage.promptTokens,
    });
  }
}
