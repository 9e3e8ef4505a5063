import { invalidFile, quoted } from '../invalid-file.js';
import type { CheckedSource } from '../layers/checked-source.js';
import { readFloats } from '../safetensors/safetensors-values.js';
import type { SafetensorsWeights, StoredTensor } from '../safetensors/safetensors-weights.js';

/** Modules of the parts that see, and of the layers between them and a decoder. */
const visionModules = /^(?:model\.)?(?=(?:visual|vision_tower|vision_model|multi_modal_projector|connector)\.)/;

/** Older libraries have one module more. */
function nameOf(name: string): string {
  return name.replace(visionModules, '').replace(/^vision_tower\.vision_model\./, 'vision_tower.');
}

/** The part of safetensors that sees. */
export class HubVisionWeights implements CheckedSource {
  readonly fileName: string;
  private readonly tensors = new Map<string, StoredTensor>();

  constructor({ tensors }: Pick<SafetensorsWeights, 'tensors'>) {
    for (const [name, tensor] of tensors) {
      if (visionModules.test(name)) this.tensors.set(nameOf(name), tensor);
    }
    this.fileName = [...this.tensors.values()][0]?.file.name ?? 'model.safetensors';
  }

  get names(): Iterable<string> {
    return this.tensors.keys();
  }

  /** Number of weights. */
  get parameters(): number {
    const shapes = [...this.tensors.values()].map(({ entry }) => entry.shape);
    return shapes.reduce((sum, shape) => sum + shape.reduce((product, size) => product * size, 1), 0);
  }

  storedNames(name: string): readonly string[] {
    return [name];
  }

  dimensionsOf(name: string): readonly number[] | undefined {
    return this.tensors.get(name)?.entry.shape;
  }

  /** Kernels of convolutions are rows too: one per output. */
  async rows(name: string, from: number, to: number): Promise<Float32Array> {
    const { file, entry } = this.find(name);
    const columns = entry.shape.slice(1).reduce((product, size) => product * size, 1);
    return await readFloats(file, entry, from * columns, (to - from) * columns);
  }

  async vector(name: string): Promise<Float32Array> {
    const { file, entry } = this.find(name);
    const count = entry.shape.reduce((product, size) => product * size, 1);
    return await readFloats(file, entry, 0, count);
  }

  private find(name: string): StoredTensor {
    const found = this.tensors.get(name);
    if (found === undefined) throw invalidFile(this.fileName, `it has no tensor ${quoted(name)}`);
    return found;
  }
}
