import { PlatformError } from '#common';
import type { DocumentHints, ExtractedText } from '../document.js';
import { defaultLimits, type DocumentLimits } from '../document-limits.js';
import { DocumentFault } from '../document-fault.js';
import { ExtractionProcess, ExtractorLost, type ProcessLimits } from './extraction-process.js';
import { ExtractionSlots, type SlotLimits } from './extraction-slots.js';
import { type ExtractorProgram, extractorProgram } from './extractor-program.js';

const mebibyte = 1024 * 1024;

export const defaultProcessLimits: ProcessLimits = {
  timeoutMs: 20_000,
  maxHeapBytes: 256 * mebibyte,
  maxResidentBytes: 512 * mebibyte,
};

const defaultSlots: SlotLimits = {
  slots: 2,
  slotsPerOwner: 1,
  maxWaiting: 16,
  maxWaitingPerOwner: 4,
  maxWaitMs: 30_000,
};

export interface DocumentExtractorOptions {
  program?: ExtractorProgram;
  limits?: Partial<DocumentLimits>;
  process?: Partial<ProcessLimits>;
  slots?: Partial<SlotLimits>;
}

export interface ExtractionOrder extends Partial<DocumentHints> {
  bytes: Buffer;
  /** Whose file it is: an account gets one extractor at a time. */
  owner: string;
  /** Field to name in errors. */
  param: string;
  /** A longer text is cut off. Default: that of the extractor. */
  maxCharacters?: number;
  signal?: AbortSignal;
}

/** Extracts the text of files of clients, each in a process of its own. */
export class DocumentExtractor {
  private readonly program: ExtractorProgram;
  private readonly limits: DocumentLimits;
  private readonly processLimits: ProcessLimits;
  private readonly slots: ExtractionSlots;

  constructor({ program, limits, process: processLimits, slots }: DocumentExtractorOptions = {}) {
    this.program = program ?? extractorProgram();
    this.limits = { ...defaultLimits, ...limits };
    this.processLimits = { ...defaultProcessLimits, ...processLimits };
    this.slots = new ExtractionSlots({ ...defaultSlots, ...slots });
  }

  /**
   * Rejects with `INVALID_REQUEST` naming the field and what is wrong with the file, as `ExtractionSlots.run` does if
   * too many files are read, with `SERVICE_UNAVAILABLE` if the machine cannot run the extractor, or with the signal's
   * reason.
   */
  async extract({ bytes, owner, param, signal, ...order }: ExtractionOrder): Promise<ExtractedText> {
    const { filename = '', contentType = '', maxCharacters = this.limits.maxCharacters } = order;
    const limits = { ...this.limits, maxCharacters };
    const work = (): Promise<ExtractedText> =>
      new ExtractionProcess(this.program, this.processLimits).extract(
        { hints: { filename, contentType }, limits },
        bytes,
        signal,
      );
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
