/** Queues samples between the model and the encoder; the encoder pulls, the model does not wait. */
export class SampleQueue implements AsyncIterable<Float32Array> {
  private readonly waiting: Float32Array[] = [];
  private ended = false;
  private wake: () => void = () => undefined;

  push(samples: Float32Array): void {
    this.waiting.push(samples);
    this.wake();
  }

  end(): void {
    this.ended = true;
    this.wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Float32Array, void, undefined> {
    for (;;) {
      const samples = this.waiting.shift();
      if (samples !== undefined) yield samples;
      else if (this.ended) return;
      else await new Promise<void>((resolve) => (this.wake = resolve));
    }
  }
}
