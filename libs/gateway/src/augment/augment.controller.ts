import { Controller, Post } from '@nestjs/common';
import { PlatformError } from '#common';
import { DocumentExtractor } from '#documents';
import { ApiConfig } from '#platform/config';
import { ApiRoute, Billed, Exchange, type HttpExchange, Multipart, RequestBody } from '#platform/http';
import { Wallets } from '#platform/wallets';
import { PageReader, WebFault, WebSearch } from '#web';
import type { OpenCheck } from '../pipeline/policy/classifiers.js';
import { ContentPolicy } from '../pipeline/policy/content-policy.js';
import { RequestPipeline } from '../pipeline/request-pipeline.js';
import { scrapeDocument, searchDocument, textDocument } from './augment.document.js';
import { AugmentScrapeRequest, AugmentSearchRequest, AugmentTextRequest, maxFileBytes } from './augment.request.js';
import type { AugmentScrapeResponse, AugmentSearchResponse, AugmentTextResponse } from './augment.response.js';
import { DirectRequests } from '../pipeline/direct-requests.js';
import { estimateTokens } from './estimate-tokens.js';

const defaultLimit = 10;

/** Search, pages and files without a model. */
@Controller('augment')
export class AugmentController {
  constructor(
    private readonly pipeline: RequestPipeline,
    private readonly requests: DirectRequests,
    private readonly webSearch: WebSearch,
    private readonly pages: PageReader,
    private readonly documents: DocumentExtractor,
    private readonly policy: ContentPolicy,
    private readonly config: ApiConfig,
  ) {}

  @Post('search')
  @Billed()
  @Wallets()
  @ApiRoute(searchDocument)
  async search(
    @RequestBody(AugmentSearchRequest) { query, limit: count = defaultLimit }: AugmentSearchRequest,
    @Exchange() http: HttpExchange,
  ): Promise<AugmentSearchResponse> {
    if (!this.webSearch.isConfigured) {
      const message = 'Web search is off: the operator has not set SLUICE_SEARCH_PROVIDERS.';
      throw new PlatformError('INVALID_REQUEST', message);
    }
    const open: OpenCheck = (model) => this.pipeline.openCheck(http, model);
    await this.policy.screenTexts([{ param: 'query', text: query }], open);
    const scope = http.caller.accountId;
    const { providers } = this.config.search;
    const prices = Object.fromEntries(providers.map(({ name, priceUsd }) => [name, priceUsd]));
    const { results } = await this.requests.run(http, { id: 'augment-search', prices }, async (signal) => {
      const found = await this.webSearch.search({ query, count, scope }, signal).catch(explained);
      return { result: found, answeredBy: found.provider };
    });
    return {
      query,
      results: results.map(({ title, url, snippet, date = '' }) => ({ title, url, content: snippet, date })),
    };
  }

  @Post('scrape')
  @Billed()
  @Wallets()
  @ApiRoute(scrapeDocument)
  async scrape(
    @RequestBody(AugmentScrapeRequest) { url }: AugmentScrapeRequest,
    @Exchange() http: HttpExchange,
  ): Promise<AugmentScrapeResponse> {
    const owner = http.caller.accountId;
    const prices = { page: Number(this.config.augmentPriceUsd) };
    const page = await this.requests.run(http, { id: 'augment-scrape', prices }, async (signal) => ({
      result: await this.pages.read(url, { owner, signal }).catch(explained),
      answeredBy: 'page',
    }));
    const { title, markdown: content, links, metadata } = page;
    return { url: page.url, content, format: 'markdown', title, links, metadata: { ...metadata } };
  }

  @Post('text-parser')
  @Billed()
  @Wallets()
  @Multipart({ maxFileBytes, maxFiles: 1, only: true })
  @ApiRoute(textDocument)
  async parse(
    @RequestBody(AugmentTextRequest) { file, response_format: format = 'json' }: AugmentTextRequest,
    @Exchange() http: HttpExchange,
  ): Promise<AugmentTextResponse | string> {
    const { bytes, filename, contentType } = file;
    const owner = http.caller.accountId;
    const prices = { file: Number(this.config.augmentPriceUsd) };
    const text = await this.requests.run(http, { id: 'augment-text-parser', prices }, async (signal) => {
      const document = { bytes, filename, contentType, owner, param: 'file', signal };
      return { result: (await this.documents.extract(document)).text, answeredBy: 'file' };
    });
    if (format === 'json') return { text, tokens: estimateTokens(text) };
    http.setHeaders({ 'content-type': 'text/plain; charset=utf-8' });
    return text;
  }
}

/** Translates faults of the web: what a caller can change is a 400. */
function explained(error: unknown): never {
  if (!(error instanceof WebFault)) throw error;
  const code = error.reason === 'unavailable' ? 'SERVICE_UNAVAILABLE' : 'INVALID_REQUEST';
  throw new PlatformError(code, error.message, error.reason === 'refused' ? 'url' : null, { cause: error });
}
