import { bytesOf, GraphBuilder, type ValueName } from '../../onnx/graph-builder.js';
import type { OnnxGraph } from '../../onnx/onnx-types.js';
import { invalidFile } from '../invalid-file.js';
import { channelsFirstKernel } from './channels-first-kernel.js';
import { type GraphModel, type GraphNode, integersOf, textOf } from './graph-model.js';
import type { TfjsWeight } from './tfjs-weights.js';

/** The part of a graph model to convert. */
export interface GraphCut {
  /** Node whose value the input replaces. */
  input: string;
  /** Nodes by the name of the output that they become. */
  outputs: ReadonlyMap<string, string>;
}

/**
 * Builds the graph of a part of a graph model: input `input` `[1, 3, h, w]`, channels first, and the outputs as the model
 * has them, channels last. All are float32.
 */
export function emitGraphModel(file: string, model: GraphModel, cut: GraphCut): OnnxGraph {
  return new GraphModelGraph(file, model, cut).build();
}

class GraphModelGraph {
  private readonly graph = new GraphBuilder('graph-model');
  private readonly values = new Map<string, ValueName>();

  constructor(
    private readonly file: string,
    private readonly model: GraphModel,
    private readonly cut: GraphCut,
  ) {}

  build(): OnnxGraph {
    const { graph, cut } = this;
    const input = graph.input('input', 'float32', [1, 3, 'h', 'w']);
    this.nodeNamed(cut.input);
    this.values.set(cut.input, this.channelsLast(input));
    for (const [output, node] of cut.outputs) {
      graph.node('Identity', [this.value(node)], {}, output);
      graph.output(output, 'float32', null);
    }
    return graph.build();
  }

  /** Emits what a value needs before itself; the stack holds what is not emitted yet, because graphs are deep. */
  private value(name: string): ValueName {
    const open = [name];
    for (let next = open.at(-1); next !== undefined; next = open.at(-1)) {
      const missing = this.values.has(next) ? [] : this.inputsOf(next).filter((input) => !this.values.has(input));
      if (open.length + missing.length > this.model.nodes.size + 1) throw this.invalid('its graph has a cycle');
      if (missing.length > 0) {
        open.push(...missing);
        continue;
      }
      if (!this.values.has(next)) this.values.set(next, this.emit(this.nodeNamed(next)));
      open.pop();
    }
    return this.values.get(name) as ValueName;
  }

  /** Names of the nodes whose values an operator computes with; constants and shapes are read when it is emitted. */
  private inputsOf(name: string): string[] {
    const node = this.nodeNamed(name);
    const { input = [] } = node;
    switch (node.op) {
      case 'Const':
        return [];
      case 'Add':
      case 'AddN':
      case 'Mul':
      case 'Sub':
        return input;
      case 'ConcatV2':
        return input.slice(0, -1);
      default:
        return input.slice(0, 1);
    }
  }

  private emit(node: GraphNode): ValueName {
    const { graph } = this;
    const { input = [] } = node;
    const value = (index: number): ValueName => this.values.get(input[index] ?? '') as ValueName;
    switch (node.op) {
      case 'Const':
        return this.constant(node.name);
      case 'Conv2D':
      case 'DepthwiseConv2dNative':
        return this.convolution(node, value(0));
      case 'FusedBatchNorm':
        return this.batchNormalization(node, value(0));
      case 'BiasAdd':
        return graph.node('Add', [value(0), this.constant(input[1] ?? '')]);
      case 'Add':
      case 'Mul':
      case 'Sub':
        return graph.node(node.op, [value(0), value(1)]);
      case 'AddN':
        return graph.node(
          'Sum',
          input.map((_, index) => value(index)),
        );
      case 'Relu6':
        return graph.node('Clip', [value(0), graph.float(0), graph.float(6)]);
      case 'Sigmoid':
        return graph.node('Sigmoid', [value(0)]);
      case 'Reshape':
        return graph.node('Reshape', [value(0), graph.integers(this.shapeOf(input[1] ?? ''))]);
      case 'Squeeze':
        return graph.node('Squeeze', [value(0), graph.integers(integersOf(node, 'squeeze_dims'))]);
      case 'ConcatV2': {
        const [axis = 0] = this.weightOf(input.at(-1) ?? '').data;
        const parts = input.slice(0, -1).map((_, index) => value(index));
        return graph.node('Concat', parts, { axis });
      }
      default:
        throw this.invalid(`its node ${node.name} is of the unknown type ${node.op}`);
    }
  }

  private convolution(node: GraphNode, value: ValueName): ValueName {
    const kernel = this.weightOf(node.input?.[1] ?? '');
    const isDepthwise = node.op === 'DepthwiseConv2dNative';
    const [height = 1, width = 1, channels = 1] = kernel.shape;
    const { dimensions, data } = channelsFirstKernel(kernel, isDepthwise);
    const weight = this.graph.weight(`${node.name}/kernel`, 'float32', dimensions, () => bytesOf(data));
    const padding = textOf(node, 'padding');
    if (padding !== 'SAME' && padding !== 'VALID')
      throw this.invalid(`${node.name} has the unknown padding ${padding}`);
    const attributes = {
      kernel_shape: [height, width],
      strides: alongSides(integersOf(node, 'strides')),
      dilations: alongSides(integersOf(node, 'dilations')),
      group: isDepthwise ? channels : 1,
      auto_pad: padding === 'SAME' ? 'SAME_UPPER' : 'VALID',
    };
    const first = this.graph.node('Transpose', [value], { perm: [0, 3, 1, 2] });
    return this.channelsLast(this.graph.node('Conv', [first, weight], attributes));
  }

  /** With fixed statistics it is one product and one sum per channel. */
  private batchNormalization(node: GraphNode, value: ValueName): ValueName {
    const [gamma, beta, mean, variance] = [1, 2, 3, 4].map((index) => this.weightOf(node.input?.[index] ?? '')) as [
      TfjsWeight,
      TfjsWeight,
      TfjsWeight,
      TfjsWeight,
    ];
    const epsilon = node.attr?.['epsilon']?.f ?? 1e-4;
    const scale = gamma.data.map((factor, channel) => factor / Math.sqrt((variance.data[channel] ?? 0) + epsilon));
    const shift = beta.data.map((sum, channel) => sum - (mean.data[channel] ?? 0) * (scale[channel] ?? 0));
    const weight = (part: string, data: Float32Array): ValueName =>
      this.graph.weight(`${node.name}/${part}`, 'float32', gamma.shape, () => bytesOf(data));
    return this.graph.node('Add', [this.graph.node('Mul', [value, weight('scale', scale)]), weight('shift', shift)]);
  }

  /** A shape is a constant or packed from numbers, of which the first may be the size of the batch. */
  private shapeOf(name: string): number[] {
    const node = this.nodeNamed(name);
    if (node.op === 'Const') return [...this.weightOf(name).data];
    if (node.op !== 'Pack') throw this.invalid(`the shape ${name} is not known before the model runs`);
    return (node.input ?? []).map((part, index) => {
      // Zero keeps the dimension.
      if (this.nodeNamed(part).op !== 'Const' && index === 0) return 0;
      return this.weightOf(part).data[0] ?? 0;
    });
  }

  private constant(name: string): ValueName {
    const known = this.values.get(name);
    if (known !== undefined) return known;
    const { shape, data } = this.weightOf(name);
    const value = this.graph.weight(name, 'float32', shape, () => bytesOf(data));
    this.values.set(name, value);
    return value;
  }

  private channelsLast(value: ValueName): ValueName {
    return this.graph.node('Transpose', [value], { perm: [0, 2, 3, 1] });
  }

  private weightOf(name: string): TfjsWeight {
    const weight = this.model.weights.get(name);
    if (weight === undefined) throw this.invalid(`the weight ${name} is missing`);
    return weight;
  }

  private nodeNamed(name: string): GraphNode {
    const node = this.model.nodes.get(name);
    if (node === undefined) throw this.invalid(`it has no node ${name}`);
    return node;
  }

  private invalid(problem: string): Error {
    return invalidFile(this.file, problem);
  }
}

/** Height and width of `[batch, height, width, channels]`. */
function alongSides(values: readonly number[]): number[] {
  return [values[1] ?? 1, values[2] ?? 1];
}
