import { bytesOf, type TensorContent } from '../../onnx/index.js';

/**
 * Tensors from one pass over a layer: codes, yielded piece by piece, and those returned at the end: scales, and offsets
 * of blocks that have them. The small ones are kept until the writer reaches the last of them; they must follow the codes.
 */
export class CodesWithScales {
  private waiting: readonly Float32Array[] = [];

  constructor(
    private readonly layerName: string,
    private readonly quantize: () => AsyncGenerator<Uint8Array, readonly Float32Array[]>,
  ) {}

  readonly codes: TensorContent = () => this.write();
  readonly scales: TensorContent = () => this.take(0);
  readonly offsets: TensorContent = () => this.take(1);

  private async *write(): AsyncGenerator<Uint8Array> {
    this.waiting = yield* this.quantize();
  }

  private take(index: number): Uint8Array {
    const found = this.waiting[index];
    if (!found) throw new Error(`The scales of ${this.layerName} were asked for before its codes.`);
    if (index + 1 === this.waiting.length) this.waiting = [];
    return bytesOf(found);
  }
}
