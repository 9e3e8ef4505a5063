import { productOf } from '#common/values';
import { bytesOf, type GraphBuilder, type ValueName } from '../../onnx/index.js';
import { type EncoderActivation, EncoderParts } from '../bert/encoder-parts.js';
import { emitLinear, type LinearFormat } from '../decoder/index.js';
import { invalidFile, quoted } from '../invalid-file.js';
import type { CheckedSource } from './checked-source.js';

export type LayerActivation = EncoderActivation | 'quick-gelu';

/** A linear layer with a bias unless `hasBias` is false; its name is that of the module. */
export interface CheckedLinear {
  name: string;
  inputs: number;
  outputs: number;
  hasBias?: boolean;
}

const maxNamed = 5;

/**
 * Layers of graphs that see or hear. What they ask for is checked against the source as they are added, so that a file
 * that does not fit is refused before anything of it is read or downloaded.
 */
export class CheckedLayers {
  private readonly parts: EncoderParts;

  constructor(
    readonly builder: GraphBuilder,
    private readonly source: CheckedSource,
    private readonly options: { epsilon: number; linear: LinearFormat },
    private readonly unread = new Set(source.names),
  ) {
    this.parts = new EncoderParts(builder, source, options.epsilon);
  }

  /** The same layers in a branch of the graph. */
  in(branch: GraphBuilder): CheckedLayers {
    return new CheckedLayers(branch, this.source, this.options, this.unread);
  }

  linear(input: ValueName, { name, inputs, outputs, hasBias = true }: CheckedLinear): ValueName {
    const weight = `${name}.weight`;
    this.require(weight, [outputs, inputs]);
    const layer = { name: weight, inputs, outputs };
    const product = emitLinear(this.builder, this.source, this.options.linear, input, layer);
    return hasBias ? this.builder.node('Add', [product, this.vector(`${name}.bias`, outputs)]) : product;
  }

  layerNorm(input: ValueName, name: string, size: number): ValueName {
    this.require(`${name}.weight`, [size]);
    this.require(`${name}.bias`, [size]);
    return this.parts.layerNorm(input, { name, size });
  }

  /** `added` is what the stored gain lacks. */
  rmsNorm(
    input: ValueName,
    name: string,
    size: number,
    { epsilon = this.options.epsilon, added = 0 }: { epsilon?: number; added?: number } = {},
  ): ValueName {
    const { builder, source } = this;
    const weight = `${name}.weight`;
    this.require(weight, [size]);
    const gain = builder.weight(weight, 'float32', [size], async function* () {
      yield bytesOf((await source.vector(weight)).map((value) => value + added));
    });
    return builder.node('SimplifiedLayerNormalization', [input, gain], { axis: -1, epsilon: { float: epsilon } });
  }

  /** Adds the kernel of a convolution, `[outputs, channels, rows, columns]`. */
  kernel(name: string, dimensions: number[]): ValueName {
    const { builder, source } = this;
    const [outputs = 1, ...inner] = dimensions;
    this.require(name, [outputs, productOf(inner)]);
    return builder.weight(name, 'float32', dimensions, async function* () {
      yield bytesOf(await source.rows(name, 0, outputs));
    });
  }

  activate(input: ValueName, activation: LayerActivation): ValueName {
    if (activation !== 'quick-gelu') return this.parts.activate(input, activation);
    return this.builder.contribNode('QuickGelu', [input], { alpha: { float: 1.702 } });
  }

  table(name: string, rows: number, columns: number): ValueName {
    this.require(name, [rows, columns]);
    return this.parts.table(name, rows, columns);
  }

  vector(name: string, size: number): ValueName {
    this.require(name, [size]);
    return this.parts.vector(name, size);
  }

  /** Throws `INVALID_MODEL` for tensors that no layer asked for, except those that are not needed. */
  refuseUnread(isUnneeded: (name: string) => boolean = () => false): void {
    const names = [...this.unread].filter((name) => !isUnneeded(name));
    if (names.length === 0) return;
    const more = names.length > maxNamed ? ` and ${names.length - maxNamed} more` : '';
    const listed = names.slice(0, maxNamed).map(quoted).join(', ');
    throw invalidFile(this.source.fileName, `it has tensors that nothing here computes with: ${listed}${more}`);
  }

  /** Throws `INVALID_MODEL` unless the tensor has this size. Kernels of convolutions count as rows. */
  require(name: string, [rows = 1, columns = 1]: readonly number[]): void {
    const found = this.source.dimensionsOf(name);
    const stored = this.source.storedNames(name);
    const [first = name] = stored;
    if (found === undefined) throw invalidFile(this.source.fileName, `it has no tensor ${quoted(first)}`);
    for (const each of stored) this.unread.delete(each);
    const width = productOf(found.slice(1));
    if (found[0] === rows && width === columns) return;
    const sizes = `its tensor ${quoted(first)} is ${found.join(' × ')}, not ${rows} × ${columns}`;
    throw invalidFile(this.source.fileName, sizes);
  }
}
