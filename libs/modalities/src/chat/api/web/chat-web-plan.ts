import type { ChatMessage } from '../../contract/chat.message.js';
import type { WebUse } from '../../contract/chat.web-meter.js';
import type { PromptSource, SourceRun } from '../job/prompt-source.js';
import { citedJob } from './cited-job.js';
import type { StartedChat } from '../job/started-chat.js';
import type { WebLookup } from './web-lookup.js';
import { type ScorePassages, trimSources } from './trim-sources.js';
import { withWeb } from './web-prompt.js';
import type { WebRequest } from './web-request.js';
import { nothingFound, type WebCall, type WebFindings, type WebObserver } from '../job/web-source.js';
import { writeWebBlock } from './web-text.js';

/** A block that is shorter holds no source. */
const minBlockBytes = 256;

const noRoom = 'The conversation leaves no room for web sources in the context of the model.';

/** Called before the first lookup. */
type Begun = (targets: WebCall['target'][]) => Promise<void> | undefined;

interface PlanOptions {
  request: WebRequest;
  accountId: string;
  /** Asks the model of the chat; returns what to search for, or null. Never rejects. */
  decide: (signal: AbortSignal) => Promise<string | null>;
  cites: boolean;
  score: ScorePassages;
  /** The provider of searches of X; absent: the model has none. */
  xProvider?: string;
  /** Maximum bytes of the block in the prompt. */
  maxBytes: number;
  maxMs: number;
}

/**
 * What one request looks up. It happens after the admission of the job, whose reservation covers the most that it may
 * cost, and before the queue: a slow site keeps no worker and no connection waiting.
 */
export class ChatWebPlan implements PromptSource {
  readonly amountNano = 0n;
  private findings: WebFindings | null = null;

  constructor(
    private readonly lookup: Pick<WebLookup, 'search' | 'read' | 'maxSearchNano'>,
    private readonly options: PlanOptions,
  ) {}

  get afterAdmissionMs(): number {
    return this.options.maxMs;
  }

  /** What succeeded; before the lookup, the most that may. */
  get use(): WebUse {
    return this.findings?.use ?? this.maxUse;
  }

  bound(messages: ChatMessage[]): ChatMessage[] {
    const { cites, maxBytes } = this.options;
    return withWeb(messages, { block: '.'.repeat(this.hasRoom ? maxBytes : 1), cites });
  }

  /** The limits of the chat are all that it has. */
  limit(): Promise<void> {
    return Promise.resolve();
  }

  /** Looks things up for an admitted job, which `observer` follows. Never rejects. */
  async run(messages: ChatMessage[], { signal, observer }: Omit<SourceRun, 'reservedNano'>): Promise<ChatMessage[]> {
    const { cites, maxBytes } = this.options;
    const findings = await this.find(signal, observer);
    this.findings = findings;
    if (findings.isDeclined === true) return messages;
    return withWeb(messages, { block: writeWebBlock(findings.sources, maxBytes).text, cites });
  }

  present({ chat: { parameters, ...rest }, job, ...started }: StartedChat): StartedChat {
    const { sources, problem, calls } = this.findings ?? nothingFound;
    const shown = sources.map(({ date, ...source }) => (date === null ? source : { ...source, date }));
    // Behind the sources that texts cite by number come the documents of a character.
    const citations = [...shown, ...parameters.web_search_citations];
    const found = { web_search_citations: citations, ...(problem === null ? {} : { web_search_error: problem }) };
    const chat = { ...rest, parameters: { ...parameters, ...found } };
    return { ...started, chat, job: this.options.cites ? citedJob(job, sources.length) : job, webCalls: calls };
  }

  private get hasRoom(): boolean {
    return this.options.maxBytes >= minBlockBytes;
  }

  private get maxUse(): WebUse {
    const { request } = this.options;
    if (!this.hasRoom) return {};
    if (request.kind === 'scrape') return { webPages: request.urls.length };
    return { webSearches: 1, webSearchNano: this.lookup.maxSearchNano };
  }

  /** Never rejects: what does not work in time is left out. Returns at once when `signal` aborts. */
  private async find(signal: AbortSignal, observer?: WebObserver): Promise<WebFindings> {
    if (!this.hasRoom) return { ...nothingFound, problem: noRoom };
    const { request, maxMs, maxBytes } = this.options;
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(maxMs)]);
    const begun: Begun = (targets) => observer?.begun(targets);
    const found =
      request.kind === 'search' ? await this.search(request, begun, inTime) : await this.read(request, begun, inTime);
    // Citations number the sources that the model gets.
    const { score } = this.options;
    const trimmed = await trimSources(found.sources, { maxBytes, score, signal: inTime });
    const findings = { ...found, sources: writeWebBlock(trimmed, maxBytes).sources };
    if (findings.calls.length > 0) await observer?.ended(findings);
    return findings;
  }

  private async search(
    request: Extract<WebRequest, { kind: 'search' }>,
    begun: Begun,
    signal: AbortSignal,
  ): Promise<WebFindings> {
    const { accountId: scope, decide, xProvider: provider } = this.options;
    const query = request.decides ? await decide(signal) : request.query;
    if (query === null) {
      return { ...nothingFound, isDeclined: true, problem: signal.aborted ? 'The web search took too long.' : null };
    }
    const x = request.x === undefined || provider === undefined ? {} : { x: { provider, filter: request.x } };
    await begun([{ query }]);
    const result = await this.lookup.search({ query, scope, ...x }, signal);
    const calls = [{ target: { query }, isFailed: 'problem' in result }];
    if ('problem' in result) return { ...nothingFound, calls, problem: result.problem };
    const problem = result.sources.length === 0 ? 'The web search found nothing.' : null;
    return { sources: result.sources, use: { webSearches: 1, webSearchNano: result.priceNano }, calls, problem };
  }

  private async read(
    { urls, skipped }: { urls: string[]; skipped: number },
    begun: Begun,
    signal: AbortSignal,
  ): Promise<WebFindings> {
    await begun(urls.map((url) => ({ url })));
    const { accountId: owner } = this.options;
    const results = await Promise.all(urls.map((url) => this.lookup.read(url, { owner, signal })));
    const sources = results.flatMap((result) => ('source' in result ? [result.source] : []));
    const problems = results.flatMap((result) => ('problem' in result ? [result.problem] : []));
    const calls = results.map((result, index) => ({
      target: { url: urls[index] ?? '' },
      isFailed: 'problem' in result,
    }));
    if (skipped > 0) problems.push(`Further addresses were not read: ${skipped}.`);
    return { sources, use: { webPages: sources.length }, calls, problem: problems.join(' ') || null };
  }
}
