import { Sandbox } from '#platform/sandbox';
import { AccountSlots } from '#platform/turns';
import { type DecoderLimits, defaultDecoderLimits } from './decoder-limits.js';
import { DecodeFault, DecoderLost, DecoderProcess } from './decoder-process.js';
import { type DecoderProgram, decoderProgram } from './decoder-program.js';
import type { DecodeTask, FaultKind, ImageFacts } from './decoder-protocol.js';
import type { Decoded } from './report-reader.js';

export interface ImageDecoderOptions {
  program?: DecoderProgram;
  limits?: Partial<DecoderLimits>;
  /** Images at once. Default 2. */
  processes?: number;
  /** Time after which a process without work ends, in ms. Default 30 s. */
  idleMs?: number;
  /** Limits of the processes. Default: what this machine can limit. */
  sandbox?: Sandbox;
}

/** What the header of a file must agree with, and its decoded pixels. */
export interface DecodeRequest extends DecodeTask {
  storedWidth: number;
  storedHeight: number;
  /** The account whose image it is, in processes that serve several. Accounts take turns. */
  owner?: string;
}

export interface DecodedImage extends ImageFacts {
  /** Empty if only the header was wanted. */
  data: Buffer;
}

/** An image waits until its request ends, as long as a timer can. */
const maxWaitMs = 2 ** 31 - 1;

/** A process that is lost for reasons of the machine is replaced so often for one image. */
const attempts = 2;

const faultProblems: Record<FaultKind, string> = {
  header: 'is damaged',
  pixels: 'is damaged or cut off',
  memory: 'needs too much memory to read',
};

/**
 * Decodes the images of clients in processes of their own, which start with the first image, decode one at a time, and
 * end when there are none. An image that crashes its process or exceeds a limit is refused; the others wait for another
 * process.
 */
export class ImageDecoder {
  /** That of this process. */
  static shared = new ImageDecoder();

  private readonly program: DecoderProgram;
  private readonly limits: DecoderLimits;
  private readonly slots: AccountSlots;
  private readonly idleMs: number;
  private readonly sandbox: Sandbox | null;
  private readonly working = new Set<DecoderProcess>();
  /** Those that wait for an image, by the timers that end them; the last one is used first. */
  private readonly idle = new Map<DecoderProcess, NodeJS.Timeout>();

  constructor({ program, limits, processes = 2, idleMs = 30_000, sandbox }: ImageDecoderOptions = {}) {
    this.program = program ?? decoderProgram();
    this.limits = { ...defaultDecoderLimits, ...limits };
    this.slots = new AccountSlots({
      slots: processes,
      slotsPerOwner: processes,
      maxWaiting: Number.POSITIVE_INFINITY,
      maxWaitingPerOwner: Number.POSITIVE_INFINITY,
      maxWaitMs,
      work: 'images are being read',
    });
    this.idleMs = idleMs;
    this.sandbox = sandbox ?? null;
  }

  /** Of the running decoders. */
  get processIds(): number[] {
    return [...this.working, ...this.idle.keys()].flatMap(({ processId }) => processId ?? []);
  }

  /**
   * Rejects with `DecodeFault` for what is wrong with the image, or with `DecoderLost` if this machine cannot decode it.
   */
  async decode(file: Buffer, request: DecodeRequest): Promise<DecodedImage> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const decoded = await this.slots.run(request.owner ?? '', () => this.run(file, request));
        return checked(decoded, request);
      } catch (error) {
        if (!(error instanceof DecoderLost) || attempt === attempts) throw error;
      }
    }
  }

  /** Ends the processes without work. */
  close(): void {
    for (const decoder of this.idle.keys()) this.dismiss(decoder);
  }

  private async run(file: Buffer, request: DecodeRequest): Promise<Decoded> {
    const { channels, maxPixels, storedWidth, storedHeight, findsTransparency } = request;
    const decoder =
      this.reuse() ?? new DecoderProcess(this.program, this.limits, this.sandbox ?? (await Sandbox.find()));
    this.working.add(decoder);
    try {
      return await decoder.run(
        { channels, maxPixels, findsTransparency },
        file,
        storedWidth * storedHeight * (channels ?? 0),
      );
    } finally {
      this.working.delete(decoder);
      this.keep(decoder);
    }
  }

  private reuse(): DecoderProcess | null {
    for (const decoder of [...this.idle.keys()].toReversed()) {
      clearTimeout(this.idle.get(decoder));
      this.idle.delete(decoder);
      if (decoder.isUsable) return decoder;
    }
    return null;
  }

  private keep(decoder: DecoderProcess): void {
    if (!decoder.isUsable) return decoder.end();
    const timer = setTimeout(() => this.dismiss(decoder), this.idleMs);
    timer.unref();
    this.idle.set(decoder, timer);
  }

  private dismiss(decoder: DecoderProcess): void {
    clearTimeout(this.idle.get(decoder));
    this.idle.delete(decoder);
    decoder.end();
  }
}

/** The decoder may be taken over by a file, so its report must agree with the header that this process read. */
function checked({ report, body }: Decoded, { channels, storedWidth, storedHeight }: DecodeRequest): DecodedImage {
  if ('fault' in report) throw new DecodeFault(faultProblems[report.fault]);
  const { cpuSeconds: _cpuSeconds, ...facts } = report;
  const { width, height } = facts;
  if (facts.storedWidth !== storedWidth || facts.storedHeight !== storedHeight) throw new DecodeFault('is damaged');
  const isUpright = width === storedWidth && height === storedHeight;
  const isTurned = width === storedHeight && height === storedWidth;
  const isWhole = body.length === width * height * (channels ?? 0);
  if (!(isUpright || isTurned) || !isWhole) throw new DecodeFault('is damaged or cut off');
  return { ...facts, data: body };
}
