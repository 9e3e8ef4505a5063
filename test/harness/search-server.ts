import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A result as a SearXNG server sends it. */
export interface ServedResult {
  title: string;
  url: string;
  content: string;
  publishedDate?: string;
}

/** A loopback server with a search that speaks SearXNG's JSON format, and with pages. */
export class SearchServer {
  /** Queries of all searches, in order. */
  readonly queries: string[] = [];
  /** Paths of the pages that were asked for; searches are not among them. */
  readonly visited: string[] = [];
  /** Pages by path. */
  readonly pages = new Map<string, { type: string; body: string }>();
  results: ServedResult[] = [];
  /** Pause before a search responds, in ms. */
  delayMs = 0;
  /** Status of searches. */
  status = 200;
  /** Searches that have no response yet. */
  open = 0;
  /** Searches whose clients left before the response. */
  abandoned = 0;
  private held: Promise<void> | null = null;

  private constructor(private readonly server: Server) {}

  static async start(): Promise<SearchServer> {
    const server = createServer((request, response) => void started.respond(request, response));
    const started = new SearchServer(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return started;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Environment of an api that searches here and may read its pages. */
  get env(): Record<string, string> {
    return {
      SLUICE_SEARCH_PROVIDERS: 'searxng',
      SLUICE_SEARXNG_URL: this.url,
      SLUICE_SEARCH_CACHE_MS: '0',
      SLUICE_SEARCH_TIMEOUT_MS: '30000',
      SLUICE_EGRESS_NETWORKS: '127.0.0.0/8',
    };
  }

  /** Holds back the responses of searches until the returned function is called. */
  hold(): () => void {
    let release = (): void => undefined;
    this.held = new Promise((resolve) => (release = resolve));
    return () => {
      this.held = null;
      release();
    };
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', this.url);
    if (pathname === '/search') {
      this.queries.push(searchParams.get('q') ?? '');
      this.open += 1;
      response.once('close', () => {
        this.open -= 1;
        this.abandoned += response.writableFinished ? 0 : 1;
      });
      if (this.delayMs > 0) await sleep(this.delayMs);
      await this.held;
      response.writeHead(this.status, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ query: searchParams.get('q'), results: this.results }));
      return;
    }
    this.visited.push(pathname);
    const page = this.pages.get(pathname);
    response.writeHead(page === undefined ? 404 : 200, { 'content-type': page?.type ?? 'text/plain' });
    response.end(page?.body ?? 'There is no such page.');
  }
}
