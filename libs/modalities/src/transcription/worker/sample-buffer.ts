/** Samples on their way through: parts come in as they are decoded, blocks go out as the model wants them. */
export class SampleBuffer {
  private parts: Float32Array[] = [];
  private held = 0;

  get length(): number {
    return this.held;
  }

  push(part: Float32Array): void {
    this.parts.push(part);
    this.held += part.length;
  }

  /** A copy of the first samples, at most `most`; they stay. */
  peek(max: number): Float32Array {
    const block = new Float32Array(Math.min(max, this.held));
    let filled = 0;
    for (const part of this.parts) {
      if (filled === block.length) break;
      const fitting = part.subarray(0, block.length - filled);
      block.set(fitting, filled);
      filled += fitting.length;
    }
    return block;
  }

  /** Lets the first samples go. */
  drop(count: number): void {
    let left = Math.min(count, this.held);
    this.held -= left;
    while (left > 0) {
      const [first = new Float32Array(0)] = this.parts;
      if (first.length > left) {
        this.parts[0] = first.subarray(left);
        return;
      }
      left -= first.length;
      this.parts.shift();
    }
  }
}
