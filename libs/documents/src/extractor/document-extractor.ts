import { PlatformError } from '#common';
import { mebibyte } from '#common/values';
import { Sandbox } from '#platform/sandbox';
import { AccountSlots, type SlotLimits } from '#platform/turns';
import type { DocumentHints, ExtractedText } from '../document.js';
import type { ExtractedPage, PageHints } from '../page.js';
import { defaultLimits, type DocumentLimits } from '../document-limits.js';
import { DocumentFault } from '../document-fault.js';
import { type Extraction, ExtractionProcess, ExtractorLost, type ProcessLimits } from './extraction-process.js';
import type { RequestHead } from './extraction-protocol.js';
import { type ExtractorProgram, extractorProgram } from './extractor-program.js';

export const defaultProcessLimits: ProcessLimits = {
  timeoutMs: 20_000,
  // The program and a thread that collects its garbage.
  maxCpuSeconds: 40,
  maxHeapBytes: 256 * mebibyte,
  maxResidentBytes: 512 * mebibyte,
};

const defaultSlots: SlotLimits = {
  slots: 2,
  slotsPerOwner: 1,
  maxWaiting: 16,
  maxWaitingPerOwner: 4,
  maxWaitMs: 30_000,
  work: 'files are being read',
};

export interface DocumentExtractorOptions {
  program?: ExtractorProgram;
  limits?: Partial<DocumentLimits>;
  process?: Partial<ProcessLimits>;
  slots?: Partial<SlotLimits>;
}

interface FileExtraction {
  bytes: Buffer;
  /** The account whose file it is. Accounts take turns. */
  owner: string;
  /** Field to name in errors. */
  param: string;
  signal?: AbortSignal;
}

export interface ExtractionRequest extends FileExtraction, Partial<DocumentHints> {
  /** A longer text is cut off. Default: that of the extractor. */
  maxCharacters?: number;
}

export interface PageExtractionRequest extends FileExtraction, PageHints {
  /** Longer content is cut off. Default: that of the extractor. */
  maxCharacters?: number;
}

/** Extracts the text of files of clients, each in a process of its own. */
export class DocumentExtractor {
  private readonly program: ExtractorProgram;
  private readonly limits: DocumentLimits;
  private readonly processLimits: ProcessLimits;
  private readonly slots: AccountSlots;

  constructor({ program, limits, process: processLimits, slots }: DocumentExtractorOptions = {}) {
    this.program = program ?? extractorProgram();
    this.limits = { ...defaultLimits, ...limits };
    this.processLimits = { ...defaultProcessLimits, ...processLimits };
    this.slots = new AccountSlots({ ...defaultSlots, ...slots });
  }

  /**
   * Rejects with `INVALID_REQUEST` naming the field and what is wrong with the file, as `AccountSlots.run` does if
   * too many files are read, with `SERVICE_UNAVAILABLE` if the machine cannot run the extractor, or with the signal's
   * reason.
   */
  async extract({ bytes, owner, param, signal, ...request }: ExtractionRequest): Promise<ExtractedText> {
    const { filename = '', contentType = '', maxCharacters = this.limits.maxCharacters } = request;
    const limits = { ...this.limits, maxCharacters };
    const head = { hints: { filename, contentType }, limits };
    return (await this.run(head, { bytes, owner, param, signal })) as ExtractedText;
  }

  /** Turns a page into Markdown. Rejects as `extract` does. */
  async extractPage({ bytes, owner, param, signal, ...request }: PageExtractionRequest): Promise<ExtractedPage> {
    const { url, charset, maxCharacters = this.limits.maxCharacters } = request;
    const hints = { filename: '', contentType: '' };
    const head = { hints, limits: { ...this.limits, maxCharacters }, page: { url, charset } };
    const { text, isTruncated } = await this.run(head, { bytes, owner, param, signal });
    return { ...(JSON.parse(text) as Omit<ExtractedPage, 'isTruncated'>), isTruncated };
  }

  private async run(head: RequestHead, { bytes, owner, param, signal }: FileExtraction): Promise<Extraction> {
    const work = async (): Promise<Extraction> => {
      const extraction = new ExtractionProcess(this.program, this.processLimits, await Sandbox.find());
      return await extraction.extract(head, bytes, signal);
    };
    try {
      return await this.slots.run(owner, work, signal);
    } catch (error) {
      throw explained(error, param);
    }
  }
}

function explained(error: unknown, param: string): unknown {
  if (error instanceof DocumentFault) return new PlatformError('INVALID_REQUEST', `${param} ${error.message}.`, param);
  if (error instanceof ExtractorLost) {
    const message = 'Files cannot be read at the moment.';
    return new PlatformError('SERVICE_UNAVAILABLE', message, null, { cause: error });
  }
  return error;
}
