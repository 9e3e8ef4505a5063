import { PlatformError } from '#common';
import type { DocumentExtractor } from '#documents';
import type { Egress, RemoteFile } from '#egress';
import { WebFault } from '../web-fault.js';
import { inertMarkdown } from './inert-markdown.js';
import { PageReader, type PageRequest, type WebPage } from './page-reader.js';
import type { Robots } from './robots.js';

export interface HttpPageReaderOptions {
  egress: Pick<Egress, 'read'>;
  extractor: Pick<DocumentExtractor, 'extract' | 'extractPage'>;
  /** Null: robots.txt files are not read. */
  robots: Pick<Robots, 'allow'> | null;
}

const maxBytes = 10 * 1024 * 1024;
const timeoutMs = 20_000;
const maxCharacters = 500_000;
const param = 'url';

const pageTypes = ['text/html', 'application/xhtml+xml'];
const plainTypes = ['text/markdown', 'text/plain', 'text/csv', 'application/json', 'application/pdf'];
/** Sites that have it send Markdown, which needs no extraction. */
const accept = 'text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, */*;q=0.1';

/** Reads pages over HTTP. Their content is read in a process with limits, where no script runs. */
export class HttpPageReader extends PageReader {
  constructor(private readonly options: HttpPageReaderOptions) {
    super();
  }

  override async read(url: string, request: PageRequest): Promise<WebPage> {
    const { owner, signal } = request;
    try {
      await this.requireAllowed(url, request);
      const contentTypes = [...pageTypes, ...plainTypes];
      const headers = { accept };
      const limits = { maxBytes, timeoutMs, contentTypes };
      const file = await this.options.egress.read({ url, owner, ...limits, headers, param, signal });
      // Redirects may lead to a site with other rules.
      if (new URL(file.url).origin !== new URL(url).origin) await this.requireAllowed(file.url, request);
      return pageTypes.includes(file.contentType) ? await this.page(file, request) : await this.text(file, request);
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof PlatformError ? faultOf(error) : error;
    }
  }

  private async requireAllowed(url: string, request: PageRequest): Promise<void> {
    const { robots } = this.options;
    // What is wrong with a URL is found when it is fetched.
    if (robots === null || !URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) return;
    if (await robots.allow(url, request)) return;
    throw new WebFault('refused', 'The site does not allow automatic requests for this page (robots.txt).');
  }

  private async page({ url, charset, bytes }: RemoteFile, { owner, signal }: PageRequest): Promise<WebPage> {
    const extraction = { bytes, url, charset, owner, param, maxCharacters, signal };
    const { title, markdown, links, metadata } = await this.options.extractor.extractPage(extraction);
    return { url, title, markdown: inertMarkdown(markdown), links, metadata };
  }

  private async text({ url, contentType, bytes }: RemoteFile, { owner, signal }: PageRequest): Promise<WebPage> {
    const extraction = { bytes, contentType, owner, param, maxCharacters, signal };
    const { text } = await this.options.extractor.extract(extraction);
    const title = /^# (.{1,300})$/m.exec(text)?.[1] ?? '';
    const markdown = contentType === 'text/markdown' ? inertMarkdown(text) : text;
    return { url, title, markdown, links: [], metadata: {} };
  }
}

const ownFaults: readonly string[] = ['SERVICE_UNAVAILABLE', 'MODEL_AT_CAPACITY', 'RATE_LIMIT_EXCEEDED'];

function faultOf(error: PlatformError): WebFault {
  if (!ownFaults.includes(error.code)) return new WebFault('refused', error.message, { cause: error });
  return new WebFault('unavailable', 'Pages cannot be read at the moment.', { cause: error });
}
