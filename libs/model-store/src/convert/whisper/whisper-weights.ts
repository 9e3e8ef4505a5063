import { type StoredRows, StoredWeights } from '../layers/stored-weights.js';

const layerPattern = /^(encoder|decoder)\.layers\.(\d{1,4})\./;

/** The weights of Whisper by the names of the hubs without a leading `model.`. */
export class WhisperWeights extends StoredWeights {
  readonly names: readonly string[];
  private readonly stored = new Map<string, string[]>();

  constructor(fileName: string, tensors: ReadonlyMap<string, StoredRows>) {
    super(fileName, tensors);
    for (const [name, { tensor }] of tensors) this.stored.set(name, [tensor.entry.name]);
    this.names = [...new Set([...tensors.values()].map(({ tensor }) => tensor.entry.name))];
  }

  storedNames(name: string): readonly string[] {
    return this.stored.get(name) ?? [name];
  }

  /** Number of the layers of a part. */
  layersOf(part: 'encoder' | 'decoder'): number {
    const found = [...this.tensors.keys()].map((name) => layerPattern.exec(name));
    return new Set(found.filter((match) => match?.[1] === part).map((match) => match?.[2])).size;
  }
}
