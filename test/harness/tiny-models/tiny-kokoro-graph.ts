import { GraphBuilder, type OnnxGraph } from '#model-store';

/** Samples per symbol of the tiny Kokoro at normal speed. */
export const samplesPerSymbol = 600;

/** Frequency of the hum in cycles per sample, at 24 kHz. */
const radiansPerSample = (2 * Math.PI * 200) / 24_000;

/**
 * Inputs and output of Kokoro with a hum as the voice: 25 ms per symbol, longer at low speed, with the first number of
 * the style as volume.
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
