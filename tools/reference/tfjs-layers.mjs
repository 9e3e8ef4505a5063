/*
 * Writes `libs/model-store/src/convert/tfjs/__fixtures__/tiny-layers.json`: a tiny layers model with every layer type that
 * the converter supports, random weights, an input and the output of TensorFlow.js.
 *
 *   mkdir /tmp/reference && cd /tmp/reference && npm init -y && npm install @tensorflow/tfjs@4.22.0
 *   node <repository>/tools/reference/tfjs-layers.mjs > tiny-layers.json      # run from that folder
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';

const tf = createRequire(join(process.cwd(), 'index.js'))('@tensorflow/tfjs');
const { layers } = tf;
const seeded = () => tf.initializers.randomUniform({ minval: -0.5, maxval: 0.5, seed: (seed += 1) });
let seed = 0;
const starts = () => ({ kernelInitializer: seeded(), biasInitializer: seeded() });

const input = tf.input({ shape: [8, 6, 3], name: 'image' });
const padded = layers
  .zeroPadding2d({
    padding: [
      [0, 1],
      [0, 1],
    ],
    name: 'pad',
  })
  .apply(input);
const strided = layers
  .conv2d({ filters: 4, kernelSize: 3, strides: 2, padding: 'valid', name: 'strided', ...starts() })
  .apply(padded);
const normed = layers
  .batchNormalization({
    name: 'normed',
    gammaInitializer: seeded(),
    betaInitializer: seeded(),
    movingMeanInitializer: seeded(),
    movingVarianceInitializer: tf.initializers.randomUniform({ minval: 0.5, maxval: 1.5, seed: 99 }),
  })
  .apply(strided);
const clipped = layers.reLU({ maxValue: 6, name: 'clipped' }).apply(normed);
const depthwise = layers
  .depthwiseConv2d({
    kernelSize: 3,
    padding: 'same',
    depthMultiplier: 2,
    name: 'depthwise',
    depthwiseInitializer: seeded(),
    biasInitializer: seeded(),
  })
  .apply(clipped);
const dropped = layers.dropout({ rate: 0.5, name: 'dropped' }).apply(depthwise);
const activated = layers.activation({ activation: 'tanh', name: 'activated' }).apply(dropped);
const same = layers
  .conv2d({ filters: 4, kernelSize: 3, padding: 'same', activation: 'sigmoid', name: 'same', ...starts() })
  .apply(activated);
const added = layers.add({ name: 'added' }).apply([same, clipped]);
const joined = layers.concatenate({ name: 'joined' }).apply([added, same]);
const nearest = layers.upSampling2d({ size: [2, 2], name: 'nearest' }).apply(joined);
const pooled = layers.maxPooling2d({ poolSize: 3, strides: 2, padding: 'same', name: 'pooled' }).apply(nearest);
const averaged = layers.averagePooling2d({ poolSize: [2, 1], strides: [2, 1], name: 'averaged' }).apply(pooled);
const flat = layers.flatten({ name: 'flat' }).apply(averaged);
const dense = layers.dense({ units: 5, activation: 'softmax', name: 'dense', ...starts() }).apply(flat);
const model = tf.model({ inputs: input, outputs: dense });

const artifacts = await new Promise((resolve) =>
  model.save(
    tf.io.withSaveHandler(
      async (saved) => (resolve(saved), { modelArtifactsInfo: { dateSaved: new Date(0), modelTopologyType: 'JSON' } }),
    ),
  ),
);
const image = Array.from({ length: 8 * 6 * 3 }, (_, index) => Math.round(Math.sin(index) * 1e4) / 1e4);
const answer = model.predict(tf.tensor(image, [1, 8, 6, 3]));
process.stdout.write(
  JSON.stringify({
    madeWith: `@tensorflow/tfjs ${tf.version.tfjs}`,
    topology: artifacts.modelTopology,
    specifications: artifacts.weightSpecs,
    weights: Buffer.from(artifacts.weightData).toString('base64'),
    image,
    answer: [...answer.dataSync()],
  }) + '\n',
);
