/**
 * The codes of a piece while they are made. Stream k is one step behind stream k - 1, so that every code of a frame can
 * depend on those before it (https://arxiv.org/abs/2306.05284, section 2.2): step s makes frame s - k of stream k.
 */
export class DelayedCodes {
  private readonly codes: Int32Array;

  constructor(private readonly layout: { codebooks: number; frames: number; padId: number }) {
    this.codes = new Int32Array(layout.codebooks * layout.frames);
  }

  /** How often the decoder runs: the last stream begins as many steps late as there are streams before it. */
  get steps(): number {
    return this.layout.frames + this.layout.codebooks - 1;
  }

  /** What the decoder is fed at a step, a code per stream: those of the step before, padding where there was none. */
  inputsOf(step: number): number[] {
    const { codebooks, padId } = this.layout;
    return Array.from({ length: codebooks }, (_, codebook) => {
      const position = this.positionOf(codebook, step - 1);
      return position === null ? padId : (this.codes[position] as number);
    });
  }

  /** Whether a step makes a code of a stream. */
  makes(codebook: number, step: number): boolean {
    return this.positionOf(codebook, step) !== null;
  }

  put(codebook: number, step: number, code: number): void {
    const position = this.positionOf(codebook, step);
    if (position !== null) this.codes[position] = code;
  }

  /** `[codebooks, frames]`, without the delay. */
  get all(): Int32Array {
    return this.codes;
  }

  private positionOf(codebook: number, step: number): number | null {
    const frame = step - codebook;
    return frame >= 0 && frame < this.layout.frames ? codebook * this.layout.frames + frame : null;
  }
}
