/** Blocks that are tried before a matrix counts as one of other values: the search takes longer than quantising. */
const maxMisses = 4;

/**
 * Finds the codes of blocks that were dequantised before: every value is an integer of a few bits times one scale. A
 * second quantisation of them would only add errors. Zeros are such a block too.
 */
export class ExactBlocks {
  private readonly zeroCode: number;
  /** Candidates for the code of the largest value, the likely ones first. */
  private readonly peakCodes: number[];
  private misses = 0;

  constructor(private readonly bits: 4 | 8) {
    const half = (this.zeroCode = 2 ** (bits - 1));
    this.peakCodes = Array.from({ length: half - 1 }, (_, index) => [index + 1 - half, half - 1 - index]).flat();
    this.peakCodes.unshift(-half);
  }

  /** Writes the codes of the block at `offset` and returns its scale; null if the block has no such codes. */
  write(block: Float32Array, codes: Uint8Array, offset: number): number | null {
    if (this.misses >= maxMisses) return null;
    const scale = this.findScale(block);
    if (scale === null) {
      this.misses += 1;
      return null;
    }
    if (scale !== 0) this.misses = 0;
    for (let index = 0; index < block.length; index++) {
      const code = (scale === 0 ? 0 : Math.round((block[index] as number) / scale)) + this.zeroCode;
      if (this.bits === 8) codes[offset + index] = code;
      else if (index % 2 === 0) codes[offset + (index >> 1)] = code;
      else codes[offset + (index >> 1)] = (codes[offset + (index >> 1)] as number) | (code << 4);
    }
    return scale;
  }

  private findScale(block: Float32Array): number | null {
    const peak = peakOf(block);
    if (peak === 0) return 0;
    for (const code of this.peakCodes) {
      const scale = shortened(peak / code);
      if (this.isMultiple(block, scale)) return scale;
    }
    return null;
  }

  private isMultiple(block: Float32Array, scale: number): boolean {
    const half = this.zeroCode;
    for (let index = 0; index < block.length; index++) {
      const value = block[index] as number;
      const code = Math.round(value / scale);
      if (code < -half || code >= half || Math.fround(code * scale) !== value) return false;
    }
    return true;
  }
}

/** Returns the value of the largest magnitude. */
export function peakOf(block: Float32Array): number {
  let peak = 0;
  let magnitude = 0;
  for (let index = 0; index < block.length; index++) {
    const value = block[index] as number;
    const absolute = value < 0 ? -value : value;
    if (absolute > magnitude) {
      magnitude = absolute;
      peak = value;
    }
  }
  return peak;
}

const word = new DataView(new ArrayBuffer(4));

/**
 * Rounds to 20 significant bits. A scale has fewer, as a half-precision number times a small integer, while the largest
 * value of a block may itself be rounded.
 */
function shortened(value: number): number {
  word.setFloat32(0, value);
  word.setUint32(0, ((word.getUint32(0) + 8) & 0xfffffff0) >>> 0);
  return word.getFloat32(0);
}
