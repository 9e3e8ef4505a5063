import type { WeightSource } from '../decoder/index.js';

/** Weights that say what they hold before they are read, by the names of the hubs without a leading `model.`. */
export interface CheckedSource extends WeightSource {
  /** Named in messages. */
  readonly fileName: string;
  /** As they are stored. */
  readonly names: Iterable<string>;
  /** The stored tensors that one of these names stands for. */
  storedNames(name: string): readonly string[];
  /** Outermost first; undefined: there is no such tensor. */
  dimensionsOf(name: string): readonly number[] | undefined;
}
