import { bytesOf, GraphBuilder, type ValueName } from '../../onnx/graph-builder.js';
import type { OnnxAttribute, OnnxGraph } from '../../onnx/onnx-types.js';
import { invalidFile } from '../invalid-file.js';
import { channelsFirstKernel } from './channels-first-kernel.js';
import type { Layer, LayersModel } from './layers-model.js';
import type { TfjsWeight } from './tfjs-weights.js';

/**
 * Builds the graph of a layers model, channels first: input `input` `[batch, channels, height, width]` and output
 * `output`, both float32. Free dimensions of the model stay free.
 */
export function emitLayersGraph(file: string, model: LayersModel): OnnxGraph {
  return new LayersGraph(file, model).build();
}

class LayersGraph {
  private readonly graph = new GraphBuilder('layers-model');
  private readonly values = new Map<string, ValueName>();
  /** Rank of the output: four for images, two for classes. */
  private readonly flat = new Set<string>();

  constructor(
    private readonly file: string,
    private readonly model: LayersModel,
  ) {}

  build(): OnnxGraph {
    for (const layer of this.model.layers) this.values.set(layer.name, this.emit(layer));
    const { outputLayer } = this.model;
    const last = this.values.get(outputLayer);
    if (last === undefined) throw invalidFile(this.file, `it has no layer ${outputLayer}`);
    this.graph.node('Identity', [last], {}, 'output');
    const shape = this.flat.has(outputLayer) ? ['batch', 'classes'] : ['batch', 'out_channels', 'out_h', 'out_w'];
    this.graph.output('output', 'float32', shape);
    return this.graph.build();
  }

  private emit(layer: Layer): ValueName {
    const { graph } = this;
    const { config } = layer;
    if (layer.inputs.some((name) => this.flat.has(name))) this.flat.add(layer.name);
    switch (layer.className) {
      case 'InputLayer':
        return this.input(layer);
      case 'Conv2D':
      case 'DepthwiseConv2D':
        return this.convolution(layer);
      case 'ZeroPadding2D':
        return this.zeroPadding(layer);
      case 'BatchNormalization':
        return this.batchNormalization(layer);
      case 'ReLU':
        return typeof config.max_value === 'number'
          ? graph.node('Clip', [this.value(layer), graph.float(0), graph.float(config.max_value)])
          : graph.node('Relu', [this.value(layer)]);
      case 'Activation':
        return this.activation(layer, this.value(layer));
      case 'Add':
        return layer.inputs
          .slice(1)
          .reduce<ValueName>(
            (sum, _, index) => graph.node('Add', [sum, this.value(layer, index + 1)]),
            this.value(layer),
          );
      case 'Concatenate':
        return graph.node(
          'Concat',
          layer.inputs.map((_, index) => this.value(layer, index)),
          { axis: 1 },
        );
      case 'Dropout':
        return this.value(layer);
      case 'UpSampling2D':
        return this.upSampling(layer);
      case 'MaxPooling2D':
        return graph.node('MaxPool', [this.value(layer)], this.pooling(layer));
      case 'AveragePooling2D':
        return graph.node('AveragePool', [this.value(layer)], this.pooling(layer));
      case 'GlobalAveragePooling2D':
        this.flat.add(layer.name);
        return graph.node('Squeeze', [graph.node('GlobalAveragePool', [this.value(layer)]), graph.integers([2, 3])]);
      case 'Flatten':
        this.flat.add(layer.name);
        // The next layer expects channels last.
        return graph.node('Flatten', [graph.node('Transpose', [this.value(layer)], { perm: [0, 2, 3, 1] })], {
          axis: 1,
        });
      case 'Dense':
        return this.dense(layer);
      default:
        throw invalidFile(this.file, `its layer ${layer.name} is of the unknown type ${layer.className}`);
    }
  }

  private input({ config }: Layer): ValueName {
    const [, height, width, channels] = config.batch_input_shape ?? [];
    return this.graph.input('input', 'float32', ['batch', channels ?? 'channels', height ?? 'h', width ?? 'w']);
  }

  private convolution(layer: Layer): ValueName {
    const isDepthwise = layer.className === 'DepthwiseConv2D';
    const kernel = this.weight(layer, isDepthwise ? 'depthwise_kernel' : 'kernel');
    const [height = 1, width = 1, channels = 1] = kernel.shape;
    const { dimensions, data } = channelsFirstKernel(kernel, isDepthwise);
    const weight = this.graph.weight(`${layer.name}/kernel`, 'float32', dimensions, () => bytesOf(data));
    const inputs = [this.value(layer), weight];
    const bias = this.model.weights.get(`${layer.name}/bias`);
    if (bias) inputs.push(this.plainWeight(layer, 'bias', bias));
    const attributes = {
      kernel_shape: [height, width],
      strides: layer.config.strides ?? [1, 1],
      dilations: layer.config.dilation_rate ?? [1, 1],
      group: isDepthwise ? channels : 1,
      ...this.padding(layer),
    };
    return this.activation(layer, this.graph.node('Conv', inputs, attributes));
  }

  private zeroPadding(layer: Layer): ValueName {
    const [[top = 0, bottom = 0] = [], [left = 0, right = 0] = []] = layer.config.padding as number[][];
    return this.graph.node('Pad', [this.value(layer), this.graph.integers([0, 0, top, left, 0, 0, bottom, right])]);
  }

  private batchNormalization(layer: Layer): ValueName {
    const mean = this.weight(layer, 'moving_mean');
    const filled = (value: number): TfjsWeight => ({
      shape: mean.shape,
      data: new Float32Array(mean.data.length).fill(value),
    });
    const part = (name: string, absent: number): ValueName =>
      this.plainWeight(layer, name, this.model.weights.get(`${layer.name}/${name}`) ?? filled(absent));
    const inputs = [part('gamma', 1), part('beta', 0), part('moving_mean', 0), part('moving_variance', 1)];
    const epsilon = { float: layer.config.epsilon ?? 1e-3 };
    return this.graph.node('BatchNormalization', [this.value(layer), ...inputs], { epsilon });
  }

  private upSampling(layer: Layer): ValueName {
    const [height = 2, width = 2] = layer.config.size ?? [];
    const scales = this.graph.weight(`${layer.name}/scales`, 'float32', [4], () =>
      bytesOf(Float32Array.of(1, 1, height, width)),
    );
    const attributes: Record<string, OnnxAttribute> =
      layer.config.interpolation === 'bilinear'
        ? { mode: 'linear', coordinate_transformation_mode: 'half_pixel' }
        : { mode: 'nearest', nearest_mode: 'floor', coordinate_transformation_mode: 'asymmetric' };
    return this.graph.node('Resize', [this.value(layer), '', scales], attributes);
  }

  private pooling(layer: Layer): Record<string, OnnxAttribute> {
    const { pool_size: kernel = [2, 2], strides = kernel } = layer.config;
    return { kernel_shape: kernel, strides, ...this.padding(layer) };
  }

  private padding({ config }: Layer): Record<string, OnnxAttribute> {
    return config.padding === 'same' ? { auto_pad: 'SAME_UPPER' } : { pads: [0, 0, 0, 0] };
  }

  private dense(layer: Layer): ValueName {
    this.flat.add(layer.name);
    const kernel = this.plainWeight(layer, 'kernel', this.weight(layer, 'kernel'));
    const product = this.graph.node('MatMul', [this.value(layer), kernel]);
    const bias = this.model.weights.get(`${layer.name}/bias`);
    const sum = bias ? this.graph.node('Add', [product, this.plainWeight(layer, 'bias', bias)]) : product;
    return this.activation(layer, sum);
  }

  private activation({ name, config }: Layer, value: ValueName): ValueName {
    const { graph } = this;
    switch (config.activation ?? 'linear') {
      case 'linear':
        return value;
      case 'relu':
        return graph.node('Relu', [value]);
      case 'relu6':
        return graph.node('Clip', [value, graph.float(0), graph.float(6)]);
      case 'softmax':
        return graph.node('Softmax', [value], { axis: -1 });
      case 'sigmoid':
        return graph.node('Sigmoid', [value]);
      case 'tanh':
        return graph.node('Tanh', [value]);
      default:
        throw invalidFile(this.file, `its layer ${name} has the unknown activation ${config.activation}`);
    }
  }

  private value(layer: Layer, index = 0): ValueName {
    const value = this.values.get(layer.inputs[index] ?? '');
    if (value === undefined) throw invalidFile(this.file, `its layer ${layer.name} comes before what it takes`);
    return value;
  }

  private weight(layer: Layer, name: string): TfjsWeight {
    const weight = this.model.weights.get(`${layer.name}/${name}`);
    if (!weight) throw invalidFile(this.file, `the weight ${layer.name}/${name} is missing`);
    return weight;
  }

  private plainWeight(layer: Layer, name: string, { shape, data }: TfjsWeight): ValueName {
    return this.graph.weight(`${layer.name}/${name}`, 'float32', shape, () => bytesOf(data));
  }
}
