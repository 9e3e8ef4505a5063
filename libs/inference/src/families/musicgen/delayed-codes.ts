/**
 * Codes of an audio clip during generation. Stream k lags one step behind stream k - 1, so each code of a frame can
 * depend on those before it. Step s generates frame s - k of stream k (https://arxiv.org/abs/2306.05284, section 2.2).
 */
export class DelayedCodes {
  private readonly codes: Int32Array;

  constructor(private readonly layout: { codebooks: number; frames: number; padId: number }) {
    this.codes = new Int32Array(layout.codebooks * layout.frames);
  }

  /** Number of decoder runs: each further stream adds one step to the frames. */
  get steps(): number {
    return this.layout.frames + this.layout.codebooks - 1;
  }

  /** Returns the decoder input of a step, one code per stream: the codes of the step before, or padding. */
  inputsOf(step: number): number[] {
    const { codebooks, padId } = this.layout;
    return Array.from({ length: codebooks }, (_, codebook) => {
      const position = this.positionOf(codebook, step - 1);
      return position === null ? padId : (this.codes[position] as number);
    });
  }

  /** Returns whether a step generates a code of a stream. */
  makes(codebook: number, step: number): boolean {
    return this.positionOf(codebook, step) !== null;
  }

  put(codebook: number, step: number, code: number): void {
    const position = this.positionOf(codebook, step);
    if (position !== null) this.codes[position] = code;
  }

  /** Returns `[codebooks, frames]` without the delay. */
  get all(): Int32Array {
    return this.codes;
  }

  private positionOf(codebook: number, step: number): number | null {
    const frame = step - codebook;
    return frame >= 0 && frame < this.layout.frames ? codebook * this.layout.frames + frame : null;
  }
}
