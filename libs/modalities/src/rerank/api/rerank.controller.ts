import { Controller, Post } from '@nestjs/common';
import { ApiExcludeEndpoint } from '@nestjs/swagger';
import { noTokens } from '#common';
import { ModelRoute, RequestPipeline } from '#gateway';
import { Exchange, type HttpExchange, RequestBody } from '#platform/http';
import { rerankJob } from '../contract/rerank.job.js';
import { maxRerankTokens, quoteRerank } from '../contract/rerank.meter.js';
import { RerankRequest } from '../contract/rerank.request.js';
import type { RerankResponse } from '../contract/rerank.response.js';
import { rerankDocument } from './rerank.document.js';
import { normalizeRerank, promptOf, rerankMembers } from './rerank.normalizer.js';
import { presentRerank, ScoreCollector } from './rerank.presenter.js';

@Controller()
export class RerankController {
  constructor(private readonly pipeline: RequestPipeline) {}

  @Post('rerank')
  @ModelRoute(rerankDocument)
  async rerank(
    @RequestBody(RerankRequest) body: RerankRequest,
    @Exchange() http: HttpExchange,
  ): Promise<RerankResponse> {
    const opened = await this.pipeline.open(http, { name: body.model, type: 'rerank' });
    const { maxInputTokens } = rerankMembers(opened.manifest);
    const prompt = promptOf(opened.manifest);
    const payload = normalizeRerank(body, prompt);
    const limited = await opened.limit();
    const limits = { maxInputTokens, pricing: limited.price.pricing, prompt };
    const bounds = { ...noTokens, promptTokens: maxRerankTokens(payload, limits) };
    const jobSpec = { definition: rerankJob, payload, bounds, amountNano: quoteRerank(payload, limits) };
    const { collected, usage } = await limited.collect(jobSpec, () => new ScoreCollector(payload.documents.length));
    return presentRerank({
      requestId: opened.jobId,
      modelId: opened.manifest.id,
      scores: collected.all(),
      documents: body.return_documents === true ? payload.documents : null,
      top: body.top_n ?? null,
      promptTokens: usage.promptTokens,
    });
  }

  /** The same at the paths that some clients add to a base URL themselves. */
  @Post(['v1/rerank', 'v2/rerank'])
  @ModelRoute(rerankDocument)
  @ApiExcludeEndpoint()
  async rerankNested(
    @RequestBody(RerankRequest) body: RerankRequest,
    @Exchange() http: HttpExchange,
  ): Promise<RerankResponse> {
    return await this.rerank(body, http);
  }
}
