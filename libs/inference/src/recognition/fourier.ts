/** cos and sin of 1/5 and 2/5 of a turn. */
const [cosine1, sine1] = [Math.cos((2 * Math.PI) / 5), Math.sin((2 * Math.PI) / 5)];
const [cosine2, sine2] = [Math.cos((4 * Math.PI) / 5), Math.sin((4 * Math.PI) / 5)];

type Five = [number, number, number, number, number];

/** Read and write buffers, swapped after each pass. */
interface ComplexArrays {
  real: Float64Array;
  imaginary: Float64Array;
}

/** Runs one pass, which joins `radix` transforms of length `done` each into one. */
interface Pass {
  radix: 2 | 4 | 5;
  done: number;
}

/**
 * Discrete Fourier transform of one length, prepared once. Lengths must be products of twos and fives (400 = 4²·5²,
 * 512 = 4⁴·2). Calls allocate nothing.
 */
export class FourierTransform {
  private readonly passes: Pass[] = [];
  private readonly cosines: Float64Array;
  private readonly sines: Float64Array;
  private readonly scratch: ComplexArrays;

  constructor(private readonly length: number) {
    let done = 1;
    for (const radix of [4, 5, 2] as const) {
      for (; (length / done) % radix === 0; done *= radix) this.passes.push({ radix, done });
    }
    if (done !== length) throw new RangeError(`no transform of length ${length}`);
    this.cosines = Float64Array.from({ length }, (_, index) => Math.cos((2 * Math.PI * index) / length));
    this.sines = Float64Array.from({ length }, (_, index) => -Math.sin((2 * Math.PI * index) / length));
    this.scratch = { real: new Float64Array(length), imaginary: new Float64Array(length) };
  }

  /** Transforms `real` and `imaginary` in place. */
  transform(real: Float64Array, imaginary: Float64Array): void {
    let from: ComplexArrays = { real, imaginary };
    let to = this.scratch;
    for (const pass of this.passes) {
      if (pass.radix === 4) this.joinFour(pass.done, from, to);
      else if (pass.radix === 2) this.joinTwo(pass.done, from, to);
      else this.joinFive(pass.done, from, to);
      [from, to] = [to, from];
    }
    if (from.real !== real) {
      real.set(from.real);
      imaginary.set(from.imaginary);
    }
  }

  private joinTwo(done: number, from: ComplexArrays, to: ComplexArrays): void {
    const { length, cosines, sines } = this;
    const half = length / 2;
    const groups = half / done;
    for (let low = 0; low < done; low++) {
      const [cosine, sine] = [cosines[low * groups] as number, sines[low * groups] as number];
      for (let group = 0; group < groups; group++) {
        const at = group * done + low;
        const [ar, ai] = [from.real[at] as number, from.imaginary[at] as number];
        const [xr, xi] = [from.real[at + half] as number, from.imaginary[at + half] as number];
        const br = xr * cosine - xi * sine;
        const bi = xr * sine + xi * cosine;
        const target = group * done * 2 + low;
        to.real[target] = ar + br;
        to.imaginary[target] = ai + bi;
        to.real[target + done] = ar - br;
        to.imaginary[target + done] = ai - bi;
      }
    }
  }

  private joinFour(done: number, from: ComplexArrays, to: ComplexArrays): void {
    const { length, cosines, sines } = this;
    const quarter = length / 4;
    const groups = quarter / done;
    for (let low = 0; low < done; low++) {
      const turn = low * groups;
      const [c1, s1] = [cosines[turn] as number, sines[turn] as number];
      const [c2, s2] = [cosines[2 * turn] as number, sines[2 * turn] as number];
      const [c3, s3] = [cosines[3 * turn] as number, sines[3 * turn] as number];
      for (let group = 0; group < groups; group++) {
        const at = group * done + low;
        const ar = from.real[at] as number;
        const ai = from.imaginary[at] as number;
        let xr = from.real[at + quarter] as number;
        let xi = from.imaginary[at + quarter] as number;
        const br = xr * c1 - xi * s1;
        const bi = xr * s1 + xi * c1;
        xr = from.real[at + 2 * quarter] as number;
        xi = from.imaginary[at + 2 * quarter] as number;
        const cr = xr * c2 - xi * s2;
        const ci = xr * s2 + xi * c2;
        xr = from.real[at + 3 * quarter] as number;
        xi = from.imaginary[at + 3 * quarter] as number;
        const dr = xr * c3 - xi * s3;
        const di = xr * s3 + xi * c3;
        const target = group * done * 4 + low;
        to.real[target] = ar + cr + (br + dr);
        to.imaginary[target] = ai + ci + (bi + di);
        to.real[target + done] = ar - cr + (bi - di);
        to.imaginary[target + done] = ai - ci - (br - dr);
        to.real[target + 2 * done] = ar + cr - (br + dr);
        to.imaginary[target + 2 * done] = ai + ci - (bi + di);
        to.real[target + 3 * done] = ar - cr - (bi - di);
        to.imaginary[target + 3 * done] = ai - ci + (br - dr);
      }
    }
  }

  private joinFive(done: number, from: ComplexArrays, to: ComplexArrays): void {
    const { length, cosines, sines } = this;
    const fifth = length / 5;
    const groups = fifth / done;
    const real = new Float64Array(5);
    const imaginary = new Float64Array(5);
    for (let low = 0; low < done; low++) {
      for (let group = 0; group < groups; group++) {
        const at = group * done + low;
        for (let part = 0; part < 5; part++) {
          const turn = part * low * groups;
          const [cosine, sine] = [cosines[turn] as number, sines[turn] as number];
          const [xr, xi] = [from.real[at + part * fifth] as number, from.imaginary[at + part * fifth] as number];
          real[part] = xr * cosine - xi * sine;
          imaginary[part] = xr * sine + xi * cosine;
        }
        const [ar, br, cr, dr, er] = [real[0], real[1], real[2], real[3], real[4]] as Five;
        const [ai, bi, ci, di, ei] = [imaginary[0], imaginary[1], imaginary[2], imaginary[3], imaginary[4]] as Five;
        const target = group * done * 5 + low;
        const [outerR, outerI, innerR, innerI] = [br + er, bi + ei, cr + dr, ci + di];
        const [outerDr, outerDi, innerDr, innerDi] = [br - er, bi - ei, cr - dr, ci - di];
        const evenR1 = ar + outerR * cosine1 + innerR * cosine2;
        const evenI1 = ai + outerI * cosine1 + innerI * cosine2;
        const evenR2 = ar + outerR * cosine2 + innerR * cosine1;
        const evenI2 = ai + outerI * cosine2 + innerI * cosine1;
        const oddR1 = outerDi * sine1 + innerDi * sine2;
        const oddI1 = outerDr * sine1 + innerDr * sine2;
        const oddR2 = outerDi * sine2 - innerDi * sine1;
        const oddI2 = outerDr * sine2 - innerDr * sine1;
        to.real[target] = ar + outerR + innerR;
        to.imaginary[target] = ai + outerI + innerI;
        to.real[target + done] = evenR1 + oddR1;
        to.imaginary[target + done] = evenI1 - oddI1;
        to.real[target + 2 * done] = evenR2 + oddR2;
        to.imaginary[target + 2 * done] = evenI2 - oddI2;
        to.real[target + 3 * done] = evenR2 - oddR2;
        to.imaginary[target + 3 * done] = evenI2 + oddI2;
        to.real[target + 4 * done] = evenR1 - oddR1;
        to.imaginary[target + 4 * done] = evenI1 + oddI1;
      }
    }
  }
}
