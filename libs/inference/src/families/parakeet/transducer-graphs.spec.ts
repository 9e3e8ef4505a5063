import { describe, expect, it } from 'vitest';
import type { GraphSession, TensorDescription } from '../../runtime/graph-session.js';
import { TransducerGraphs } from './transducer-graphs.js';

function describeTensors(
  described: Record<string, [type: string, ...shape: (string | number)[]]>,
): TensorDescription[] {
  return Object.entries(described).map(([name, [type, ...shape]]) => ({ name, type, shape }));
}

type Described = Parameters<typeof describeTensors>[0];

function session(inputs: Described, outputs: Described): GraphSession {
  const tensor = (type: string, data: unknown, dims: readonly number[]) => ({ type, data, dims });
  const described = { inputs: describeTensors(inputs), outputs: describeTensors(outputs) };
  return { ...described, tensor } as unknown as GraphSession;
}

const state: [string, ...(string | number)[]] = ['float32', 2, 'batch', 640];
const encoderInputs: Described = { audio_signal: ['float32', 'batch', 80, 'time'], length: ['int64', 'batch'] };
const jointInputs: Described = {
  encoder_outputs: ['float32', 'batch', 1_024, 'time'],
  targets: ['int32', 'batch', 'tokens'],
  input_states_1: state,
  input_states_2: state,
};
const jointOutputs: Described = {
  outputs: ['float32', 'batch', 'time', 'tokens', 1_030],
  prednet_lengths: ['int32', 'batch'],
  output_states_1: state,
  output_states_2: state,
};

function open(changes: { encoder?: Described; joint?: Described; outputs?: Described } = {}): TransducerGraphs {
  const encoder = session(changes.encoder ?? encoderInputs, {});
  const joint = session(changes.joint ?? jointInputs, changes.outputs ?? jointOutputs);
  return new TransducerGraphs({ encoder, joint, predictor: null }, { bands: 128 });
}

describe('the graphs of a transducer', () => {
  it('say how many bands they take, and which states they pass on', () => {
    const graphs = open();
    expect([graphs.bands, graphs.stateOutputs]).toEqual([80, ['output_states_1', 'output_states_2']]);
    expect(graphs.emptyStates().map(({ dims }) => dims)).toEqual([
      [2, 1, 640],
      [2, 1, 640],
    ]);
    expect(open({ encoder: { ...encoderInputs, audio_signal: ['float32', 'batch', 'bands', 'time'] } }).bands).toBe(
      128,
    );
  });

  it.each([
    ['it has no input audio_signal', { encoder: { x: ['float32', 1], x_lens: ['int64', 1] } }],
    ['its encoder is for streams', { encoder: { ...encoderInputs, cache_last_time: ['float32', 1] } }],
    [
      'its encoder does not take float32 features',
      { encoder: { ...encoderInputs, audio_signal: ['float16', 'batch', 128, 'time'] } },
    ],
    ['it has no input targets', { joint: { encoder_outputs: ['float32', 1] } }],
    ['it does not return its states', { outputs: { outputs: ['float32', 1] } }],
    ['its states have no static size', { joint: { ...jointInputs, input_states_1: ['float32', 'a', 'b', 'c'] } }],
  ] as [string, Parameters<typeof open>[0]][])('are refused: %s', (reason, changes) => {
    const expected = { code: 'INVALID_MODEL', message: expect.stringContaining(reason) as string };
    expect(() => open(changes)).toThrow(expect.objectContaining(expected));
  });
});
