import { GraphBuilder, type OnnxGraph } from '#model-store';

/** Samples that the tiny Kokoro makes of one symbol at its own pace. */
export const samplesPerSymbol = 600;

/** Hertz of a hum, by the sample, at 24 kHz. */
const radiansPerSample = (2 * Math.PI * 200) / 24_000;

/**
 * The inputs and the output of Kokoro, and a hum instead of a voice: 25 ms for each symbol, longer when it is slow, as
 * loud as the first number of the style says.
 */
export function tinyKokoroGraph(): OnnxGraph {
  const graph = new GraphBuilder('tiny-kokoro');
  const ids = graph.input('input_ids', 'int64', [1, 'sequence_length']);
  const style = graph.input('style', 'float32', [1, 256]);
  const speed = graph.input('speed', 'float32', [1]);
  const symbols = graph.node('Cast', [graph.node('Size', [ids])], { to: 1 });
  const samples = graph.node('Div', [graph.node('Mul', [symbols, graph.float(samplesPerSymbol)]), speed]);
  const count = graph.node('Squeeze', [graph.node('Round', [samples]), graph.integers([0])]);
  const time = graph.node('Range', [graph.float(0), count, graph.float(1)]);
  const hum = graph.node('Sin', [graph.node('Mul', [time, graph.float(radiansPerSample)])]);
  const loudness = graph.node('Slice', [style, graph.integers([0]), graph.integers([1]), graph.integers([1])]);
  graph.node('Mul', [graph.node('Unsqueeze', [hum, graph.integers([0])]), loudness], {}, 'waveform');
  graph.output('waveform', 'float32', [1, 'num_samples']);
  return graph.build();
}
