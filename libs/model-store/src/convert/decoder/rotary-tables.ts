import { encodeFloat16Array } from '#common';
import { bytesOf, type GraphBuilder, type ValueName } from '../../onnx/index.js';
import type { RotaryShape } from './decoder-shape.js';
import { rotaryFrequencies } from './rotary-frequencies.js';

/** Cosines and sines by position, `[context, dimensions / 2]` each. */
export interface RotaryTables {
  cosines: ValueName;
  sines: ValueName;
}

/** Values of a rotary table in memory at once. */
const tablePieceValues = 1 << 21;

/** The rotary tables of a graph, once for all layers that share them. */
export class RotaryTableSet {
  private readonly tables = new Map<RotaryShape, RotaryTables>();

  constructor(
    private readonly builder: GraphBuilder,
    private readonly type: 'float32' | 'float16',
    private readonly contextLength: number,
  ) {}

  of(shape: RotaryShape): RotaryTables {
    const known = this.tables.get(shape);
    if (known) return known;
    const suffix = this.tables.size === 0 ? '' : `_${this.tables.size + 1}`;
    const tables = {
      cosines: this.table(`rotary_cosines${suffix}`, shape, Math.cos),
      sines: this.table(`rotary_sines${suffix}`, shape, Math.sin),
    };
    this.tables.set(shape, tables);
    return tables;
  }

  private table(name: string, shape: RotaryShape, wave: (angle: number) => number): ValueName {
    const { type, contextLength } = this;
    const half = shape.dimensions / 2;
    const step = Math.max(1, Math.floor(tablePieceValues / half));
    const content = async function* (): AsyncGenerator<Uint8Array> {
      const frequencies = await rotaryFrequencies(shape);
      for (let first = 0; first < contextLength; first += step) {
        const values = new Float32Array((Math.min(contextLength, first + step) - first) * half);
        for (let index = 0; index < values.length; index++) {
          const angle = (first + Math.floor(index / half)) * (frequencies[index % half] as number);
          values[index] = wave(angle) * (shape.magnitude ?? 1);
        }
        yield bytesOf(type === 'float16' ? encodeFloat16Array(values) : values);
      }
    };
    return this.builder.weight(name, type, [contextLength, half], content);
  }
}
