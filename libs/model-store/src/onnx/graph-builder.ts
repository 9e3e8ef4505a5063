import {
  contribDomain,
  type OnnxAttribute,
  type OnnxDataType,
  type OnnxDimension,
  type OnnxGraph,
  type OnnxInitializer,
  type OnnxNode,
  type OnnxValue,
  type TensorContent,
} from './onnx-types.js';

/** Name of a value between nodes. */
export type ValueName = string;

/** Builds a graph node by node; nodes must be added in data order. Weights are only described. */
export class GraphBuilder {
  private readonly nodes: OnnxNode[] = [];
  private readonly inputs: OnnxValue[] = [];
  private readonly outputs: OnnxValue[] = [];
  private readonly initializers: OnnxInitializer[] = [];
  private readonly constants = new Map<string, ValueName>();
  private counter = 0;

  /** `parent` is the graph around a branch. */
  constructor(
    private readonly name: string,
    private readonly parent?: GraphBuilder,
  ) {}

  /** Starts the graph of a branch. It reads the values of this one, which gets its weights and constants. */
  branch(name: string): GraphBuilder {
    return new GraphBuilder(name, this);
  }

  input(name: string, type: OnnxDataType, dimensions: OnnxDimension[]): ValueName {
    this.inputs.push({ name, type, dimensions });
    return name;
  }

  output(name: string, type: OnnxDataType, dimensions: OnnxDimension[] | null): void {
    this.outputs.push({ name, type, dimensions });
  }

  /** Adds a weight whose bytes are produced when the model is written. */
  weight(name: string, type: OnnxDataType, dimensions: number[], content: TensorContent): ValueName {
    if (this.parent) return this.parent.weight(name, type, dimensions, content);
    this.initializers.push({ name, type, dimensions, content });
    return name;
  }

  /** Adds a weight whose content results from that of the one added before it, as the scales of codes do. */
  continuedWeight(name: string, type: OnnxDataType, dimensions: number[], content: TensorContent): ValueName {
    if (this.parent) return this.parent.continuedWeight(name, type, dimensions, content);
    this.initializers.push({ name, type, dimensions, content, continues: true });
    return name;
  }

  /** Adds a standard operator with one output and returns its name. */
  node(operator: string, inputs: ValueName[], attributes: Record<string, OnnxAttribute> = {}, output?: string) {
    const name = output ?? this.freshName(operator);
    this.nodes.push({ operator, domain: '', inputs, outputs: [name], attributes });
    return name;
  }

  /** Adds an operator of onnxruntime's own domain with one output. */
  contribNode(operator: string, inputs: ValueName[], attributes: Record<string, OnnxAttribute> = {}): ValueName {
    return this.contribNodeWithOutputs(operator, inputs, [this.freshName(operator)], attributes);
  }

  /** Like `contribNode`, with named outputs (empty: unused). Returns the first. */
  contribNodeWithOutputs(
    operator: string,
    inputs: ValueName[],
    outputs: string[],
    attributes: Record<string, OnnxAttribute> = {},
  ): ValueName {
    this.nodes.push({ operator, domain: contribDomain, inputs, outputs, attributes });
    return outputs[0] ?? '';
  }

  /** Adds a standard operator with several named outputs. */
  nodeWithOutputs(
    operator: string,
    inputs: ValueName[],
    outputs: string[],
    attributes: Record<string, OnnxAttribute> = {},
  ): void {
    this.nodes.push({ operator, domain: '', inputs, outputs, attributes });
  }

  /** Adds an int64 constant: a scalar for a number, a vector for a list. Equal constants share one initializer. */
  integers(value: number | number[]): ValueName {
    return this.constant('int64', value, (list) => bytesOf(BigInt64Array.from(list, BigInt)));
  }

  /** Adds a float32 scalar constant. */
  float(value: number): ValueName {
    return this.constant('float32', value, (list) => bytesOf(Float32Array.from(list)));
  }

  /** Adds a float32 constant of several values. */
  floats(values: ArrayLike<number>, dimensions: number[]): ValueName {
    return this.weight(this.freshName('constant'), 'float32', dimensions, () => bytesOf(Float32Array.from(values)));
  }

  /** Adds a uint8 scalar constant. */
  byte(value: number): ValueName {
    return this.constant('uint8', value, (list) => Uint8Array.from(list));
  }

  freshName(prefix: string): string {
    if (this.parent) return this.parent.freshName(prefix);
    this.counter += 1;
    return `${prefix}_${this.counter}`;
  }

  build(): OnnxGraph {
    const { name, nodes, inputs, outputs, initializers } = this;
    return { name, nodes, inputs, outputs, initializers };
  }

  private constant(
    type: 'int64' | 'float32' | 'uint8',
    value: number | number[],
    encode: (list: number[]) => Uint8Array,
  ): ValueName {
    if (this.parent) return this.parent.constant(type, value, encode);
    const key = `${type}${JSON.stringify(value)}`;
    const known = this.constants.get(key);
    if (known) return known;
    const list = Array.isArray(value) ? value : [value];
    const dimensions = Array.isArray(value) ? [list.length] : [];
    const name = this.weight(this.freshName('constant'), type, dimensions, () => encode(list));
    this.constants.set(key, name);
    return name;
  }
}

export function bytesOf(array: ArrayBufferView): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}
