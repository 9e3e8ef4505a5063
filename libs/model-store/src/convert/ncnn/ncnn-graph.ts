import { bytesOf, GraphBuilder, type ValueName } from '../../onnx/graph-builder.js';
import type { OnnxGraph } from '../../onnx/index.js';
import { invalidFile } from '../invalid-file.js';
import type { NcnnLayer } from './param-file.js';
import type { WeightStream } from './weight-stream.js';

/**
 * Builds the graph of a RIFE flow network or of an upscaler of the ESRGAN kind. `out` is an image from 0 to 1.
 *
 * - Flow: `in0` and `in1` are two frames `[1, 3, h, w]` from 0 to 1, `in2` is the position between them `[1, 1, h, w]`
 *   from 0 to 1, and `out` the frame there. Height and width are multiples of 32.
 * - Upscaler: its one input is an image `[1, 3, h, w]` from 0 to 1, and `out` the larger one.
 */
export async function emitNcnnGraph(
  file: string,
  layers: readonly NcnnLayer[],
  weights: WeightStream,
): Promise<OnnxGraph> {
  const emitter = new NcnnGraph(file, weights);
  for (const layer of layers) await emitter.emit(layer);
  weights.end();
  return emitter.build();
}

const inputChannels: Record<string, number> = { in0: 3, in1: 3, in2: 1 };
/** Ways to resize by their numbers in ncnn. */
const resizeModes: Readonly<Partial<Record<number, Record<string, string | { float: number }>>>> = {
  1: { mode: 'nearest', coordinate_transformation_mode: 'asymmetric', nearest_mode: 'floor' },
  2: { mode: 'linear', coordinate_transformation_mode: 'half_pixel' },
  3: { mode: 'cubic', coordinate_transformation_mode: 'half_pixel', cubic_coeff_a: { float: -0.75 } },
};

const binaryOperators = ['Add', 'Sub', 'Mul', 'Div'];
const reverseSubtraction = 7;
const leakyReluActivation = 2;

/** Pixel coordinates of the image, shared by all warps. */
interface PixelGrid {
  columns: ValueName;
  rows: ValueName;
  lastColumn: ValueName;
  lastRow: ValueName;
}

class NcnnGraph {
  private readonly graph = new GraphBuilder('ncnn');
  private readonly values = new Map<string, ValueName>();
  private grid: PixelGrid | null = null;
  private last: ValueName = '';

  constructor(
    private readonly file: string,
    private readonly weights: WeightStream,
  ) {}

  build(): OnnxGraph {
    const { graph } = this;
    graph.node('Clip', [this.last, graph.float(0), graph.float(1)], {}, 'out');
    graph.output('out', 'float32', [1, 'channels', 'h', 'w']);
    return graph.build();
  }

  async emit(layer: NcnnLayer): Promise<void> {
    if (layer.type === 'Split') {
      for (const output of layer.outputs) this.values.set(output, this.value(layer));
      return;
    }
    this.last = await this.node(layer);
    this.values.set(layer.outputs[0] ?? '', this.last);
  }

  private async node(layer: NcnnLayer): Promise<ValueName> {
    const { graph } = this;
    switch (layer.type) {
      case 'Input':
        return this.input(layer.outputs[0] ?? layer.name);
      case 'Concat':
        return graph.node(
          'Concat',
          layer.inputs.map((_, index) => this.value(layer, index)),
          { axis: 1 },
        );
      case 'Interp':
        return this.resize(layer);
      case 'Convolution':
        return this.convolution(layer);
      case 'Deconvolution':
        return this.deconvolution(layer);
      case 'ReLU':
        return this.leakyRelu(this.value(layer), number(layer, 0));
      case 'PReLU':
        return this.parametricRelu(layer);
      case 'PixelShuffle':
        return graph.node('DepthToSpace', [this.value(layer)], { blocksize: number(layer, 0), mode: 'CRD' });
      case 'Crop':
        return this.channels(this.value(layer), number(layer, 9), number(layer, 10));
      case 'BinaryOp':
        return this.binary(layer);
      case 'Eltwise':
        return this.weightedSum(layer);
      case 'Sigmoid':
        return graph.node('Sigmoid', [this.value(layer)]);
      case 'rife.Warp':
        return this.warp(layer);
      default:
        throw invalidFile(this.file, `its layer ${layer.name} is of the unknown type ${layer.type}`);
    }
  }

  private input(name: string): ValueName {
    return this.graph.input(name, 'float32', [1, inputChannels[name] ?? 3, 'h', 'w']);
  }

  /** One slope per channel, or one for all. */
  private async parametricRelu(layer: NcnnLayer): Promise<ValueName> {
    const count = number(layer, 0);
    const slopes = this.weight(layer, 'slopes', [count, 1, 1], await this.weights.floats(count));
    return this.graph.node('PRelu', [this.value(layer), slopes]);
  }

  private resize(layer: NcnnLayer): ValueName {
    const mode = resizeModes[number(layer, 0)];
    if (mode === undefined) {
      throw invalidFile(this.file, `its layer ${layer.name} resizes in the unknown way ${number(layer, 0)}`);
    }
    const scales = Float32Array.of(1, 1, number(layer, 1), number(layer, 2));
    const weight = this.graph.weight(`${layer.name}/scales`, 'float32', [4], () => bytesOf(scales));
    return this.graph.node('Resize', [this.value(layer), '', weight], mode);
  }

  private async convolution(layer: NcnnLayer): Promise<ValueName> {
    const { filters, size, inputs, count } = kernelOf(layer);
    const kernel = await this.weights.tagged(count);
    const bias = number(layer, 5) === 1 ? await this.weights.floats(filters) : new Float32Array(filters);
    const [stride, padding] = [number(layer, 3, 1), number(layer, 4)];
    const value = this.graph.node(
      'Conv',
      [
        this.value(layer),
        this.weight(layer, 'kernel', [filters, inputs, size, size], kernel),
        this.weight(layer, 'bias', [filters], bias),
      ],
      { kernel_shape: [size, size], strides: [stride, stride], pads: [padding, padding, padding, padding] },
    );
    return number(layer, 9) === leakyReluActivation ? this.leakyRelu(value, number(layer, 10)) : value;
  }

  private async deconvolution(layer: NcnnLayer): Promise<ValueName> {
    const { filters, size, inputs, count } = kernelOf(layer);
    const kernel = await this.weights.tagged(count);
    const bias = await this.weights.floats(filters);
    const [stride, padding] = [number(layer, 3, 1), number(layer, 4)];
    return this.graph.node(
      'ConvTranspose',
      [
        this.value(layer),
        this.weight(layer, 'kernel', [inputs, filters, size, size], swapPlanes(kernel, filters, inputs, size * size)),
        this.weight(layer, 'bias', [filters], bias),
      ],
      { kernel_shape: [size, size], strides: [stride, stride], pads: [padding, padding, padding, padding] },
    );
  }

  private binary(layer: NcnnLayer): ValueName {
    const operator = number(layer, 0);
    const first = this.value(layer);
    const second = number(layer, 1) === 1 ? this.graph.float(number(layer, 2)) : this.value(layer, 1);
    if (operator === reverseSubtraction) return this.graph.node('Sub', [second, first]);
    const name = binaryOperators[operator];
    if (name === undefined)
      throw invalidFile(this.file, `its layer ${layer.name} has the unknown operator ${operator}`);
    return this.graph.node(name, [first, second]);
  }

  private weightedSum(layer: NcnnLayer): ValueName {
    const [first = 1, second = 1] = layer.parameters.get(1) ?? [];
    const part = (index: number, factor: number): ValueName =>
      this.graph.node('Mul', [this.value(layer, index), this.graph.float(factor)]);
    return this.graph.node('Add', [part(0, first), part(1, second)]);
  }

  /** Samples each pixel from where the flow points, with the image's border beyond its edge. */
  private warp(layer: NcnnLayer): ValueName {
    const { graph } = this;
    const { columns, rows, lastColumn, lastRow } = this.pixelGrid();
    const flow = this.value(layer, 1);
    const along = (axis: number, base: ValueName, last: ValueName): ValueName => {
      const shift = graph.node('Squeeze', [this.channels(flow, axis, axis + 1), graph.integers([1])]);
      const coordinate = graph.node('Div', [graph.node('Add', [shift, base]), last]);
      const scaled = graph.node('Sub', [graph.node('Mul', [coordinate, graph.float(2)]), graph.float(1)]);
      return graph.node('Unsqueeze', [scaled, graph.integers([3])]);
    };
    const places = graph.node('Concat', [along(0, columns, lastColumn), along(1, rows, lastRow)], { axis: 3 });
    const attributes = { mode: 'bilinear', padding_mode: 'border', align_corners: 1 };
    return graph.node('GridSample', [this.value(layer), places], attributes);
  }

  private pixelGrid(): PixelGrid {
    if (this.grid !== null) return this.grid;
    const { graph } = this;
    const shape = graph.node('Shape', ['in0']);
    const sizeOf = (axis: number): ValueName => graph.node('Gather', [shape, graph.integers(axis)]);
    const asFloat = (value: ValueName): ValueName => graph.node('Cast', [value], { to: 1 });
    const steps = (size: ValueName, axes: number[]): ValueName =>
      graph.node('Unsqueeze', [
        asFloat(graph.node('Range', [graph.integers(0), size, graph.integers(1)])),
        graph.integers(axes),
      ]);
    const last = (size: ValueName): ValueName => graph.node('Sub', [asFloat(size), graph.float(1)]);
    const [height, width] = [sizeOf(2), sizeOf(3)];
    this.grid = {
      columns: steps(width, [0, 1]),
      rows: steps(height, [0, 2]),
      lastColumn: last(width),
      lastRow: last(height),
    };
    return this.grid;
  }

  private channels(value: ValueName, from: number, to: number): ValueName {
    const { graph } = this;
    return graph.node('Slice', [value, graph.integers([from]), graph.integers([to]), graph.integers([1])]);
  }

  private leakyRelu(value: ValueName, slope: number): ValueName {
    return this.graph.node('LeakyRelu', [value], { alpha: { float: slope } });
  }

  private weight(layer: NcnnLayer, name: string, dimensions: number[], data: Float32Array): ValueName {
    return this.graph.weight(`${layer.name}/${name}`, 'float32', dimensions, () => bytesOf(data));
  }

  private value(layer: NcnnLayer, index = 0): ValueName {
    const value = this.values.get(layer.inputs[index] ?? '');
    if (value === undefined) throw invalidFile(this.file, `its layer ${layer.name} comes before what it takes`);
    return value;
  }
}

function number({ parameters }: NcnnLayer, key: number, absent = 0): number {
  return parameters.get(key)?.[0] ?? absent;
}

/** Reads a convolution's sizes: ncnn stores the filters, the kernel side, and the total number of weights. */
function kernelOf(layer: NcnnLayer): { filters: number; size: number; inputs: number; count: number } {
  const [filters, size, count] = [number(layer, 0), number(layer, 1), number(layer, 6)];
  return { filters, size, count, inputs: count / filters / (size * size) };
}

/** Transposes `[a, b, plane]` to `[b, a, plane]`. */
function swapPlanes(values: Float32Array, first: number, second: number, plane: number): Float32Array {
  const swapped = new Float32Array(values.length);
  for (let a = 0; a < first; a++) {
    for (let b = 0; b < second; b++) {
      const from = (a * second + b) * plane;
      swapped.set(values.subarray(from, from + plane), (b * first + a) * plane);
    }
  }
  return swapped;
}
