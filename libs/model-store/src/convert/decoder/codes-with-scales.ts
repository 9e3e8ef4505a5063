import { bytesOf, type TensorContent } from '../../onnx/index.js';

/**
 * Two tensors from one pass over a layer: codes, yielded piece by piece, and their scales, returned at the end. The
 * small scales are kept until the writer reaches their tensor, which must follow that of the codes.
 */
export class CodesWithScales {
  private waiting: Float32Array | null = null;

  constructor(
    private readonly layerName: string,
    private readonly quantize: () => AsyncGenerator<Uint8Array, Float32Array>,
  ) {}

  readonly codes: TensorContent = () => this.write();

  readonly scales: TensorContent = () => {
    const scales = this.waiting;
    if (!scales) throw new Error(`The scales of ${this.layerName} were asked for before its codes.`);
    this.waiting = null;
    return bytesOf(scales);
  };

  private async *write(): AsyncGenerator<Uint8Array> {
    this.waiting = yield* this.quantize();
  }
}
