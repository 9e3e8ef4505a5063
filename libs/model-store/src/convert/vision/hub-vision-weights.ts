import { type StoredRows, StoredWeights, wholeTensor } from '../layers/stored-weights.js';
import type { SafetensorsWeights } from '../safetensors/safetensors-weights.js';

/** Modules of the parts that see, and of the layers between them and a decoder. */
const visionModules =
  /^(?:model\.)?(?=(?:visual|vision_tower|vision_model|multi_modal_projector|connector)\.|image_newline$)/;

/** Older libraries have one module more. */
function nameOf(name: string): string {
  return name.replace(visionModules, '').replace(/^vision_tower\.vision_model\./, 'vision_tower.');
}

/** The part of safetensors that sees. */
export class HubVisionWeights extends StoredWeights {
  constructor({ tensors }: Pick<SafetensorsWeights, 'tensors'>) {
    const seeing = new Map<string, StoredRows>();
    for (const [name, tensor] of tensors) {
      if (visionModules.test(name)) seeing.set(nameOf(name), wholeTensor(tensor));
    }
    super([...seeing.values()][0]?.tensor.file.name ?? 'model.safetensors', seeing);
  }

  get names(): Iterable<string> {
    return this.tensors.keys();
  }

  storedNames(name: string): readonly string[] {
    return [name];
  }
}
