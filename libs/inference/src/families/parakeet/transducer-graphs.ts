import { PlatformError } from '#common';
import { integerTensor } from '../../runtime/float-tensor.js';
import type { GraphSession, GraphTensor, TensorDescription } from '../../runtime/graph-session.js';
import type { NormalizedFeatures } from './log-mel.js';

export interface TransducerSessions {
  encoder: GraphSession;
  /** Returns the logits: the joint network, or the prediction and the joint network in one graph. */
  joint: GraphSession;
  /** The prediction network; null if `joint` contains it. */
  predictor: GraphSession | null;
}

/** Output of the encoder: rows of values, with a column per frame. */
export class EncodedSpeech {
  constructor(
    private readonly data: Float32Array,
    /** Columns of `data`; those behind the last frame are padding. */
    private readonly stride: number,
    readonly frames: number,
  ) {}

  frame(index: number): Float32Array {
    const { data, stride } = this;
    return Float32Array.from({ length: data.length / stride }, (_, row) => data[row * stride + index] as number);
  }
}

/**
 * The three networks of a transducer as NeMo exports them. The encoder turns features into frames, the prediction network
 * the tokens so far into a state, and the joint network a frame and that state into logits.
 */
export class TransducerGraphs {
  /** Mel bands of the features. */
  readonly bands: number;
  readonly stateInputs: readonly TensorDescription[];
  readonly stateOutputs: readonly string[];
  private readonly prediction: GraphSession;

  /** Throws `INVALID_MODEL` for another layout. `bands` is for graphs whose features have no static size. */
  constructor(
    readonly sessions: TransducerSessions,
    { bands }: { bands: number },
  ) {
    const { encoder, joint, predictor } = sessions;
    this.prediction = predictor ?? joint;
    this.bands = bandsOf(encoder) ?? bands;
    requireInputs(this.prediction, ['targets', ...(predictor === null ? ['encoder_outputs'] : [])]);
    if (predictor !== null) requireInputs(joint, ['encoder_outputs', 'decoder_outputs']);
    // Exporters name the states in their own ways, but keep their order.
    this.stateInputs = this.prediction.inputs.filter(
      ({ name, type }) => type === 'float32' && name !== 'encoder_outputs',
    );
    const [, ...others] = this.prediction.outputs;
    this.stateOutputs = others.filter(({ type }) => type === 'float32').map(({ name }) => name);
    if (this.stateInputs.length !== this.stateOutputs.length) throw invalidGraph('it does not return its states');
    this.emptyStates();
  }

  async encode({ data, frames, length }: NormalizedFeatures): Promise<EncodedSpeech> {
    const { encoder } = this.sessions;
    const outputs = await encoder.run(
      {
        audio_signal: encoder.tensor('float32', data, [1, this.bands, frames]),
        length: encoder.tensor('int64', BigInt64Array.of(BigInt(length)), [1]),
      },
      ['outputs', 'encoded_lengths'],
    );
    const encoded = outputs.outputs as GraphTensor;
    const stride = encoded.dims[2] ?? 0;
    const [encodedLength] = (outputs.encoded_lengths as GraphTensor).data as BigInt64Array;
    return new EncodedSpeech(encoded.data as Float32Array, stride, Math.min(stride, Number(encodedLength ?? 0)));
  }

  /** Starts a text with the token that stands for its beginning. */
  begin(token: number): TransducerText {
    return new TransducerText(this, token);
  }

  /** Runs the prediction network, and with it the joint network if `joined` is given. */
  async predict(
    token: number,
    states: readonly GraphTensor[],
    joined: Record<string, GraphTensor> = {},
  ): Promise<{ output: GraphTensor; states: GraphTensor[] }> {
    const { prediction } = this;
    const [outputName = ''] = prediction.outputs.map(({ name }) => name);
    const feeds: Record<string, GraphTensor> = { ...joined };
    for (const { name } of prediction.inputs) {
      // Exporters drop the length, which the graph does not need.
      if (name === 'targets') feeds[name] = integerTensor(prediction, { input: name, data: [token], dims: [1, 1] });
      else if (name === 'target_length') feeds[name] = integerTensor(prediction, { input: name, data: [1], dims: [1] });
    }
    for (const [index, { name }] of this.stateInputs.entries()) feeds[name] = states[index] as GraphTensor;
    const outputs = await prediction.run(feeds, [outputName, ...this.stateOutputs]);
    const next = this.stateOutputs.map((name) => outputs[name] as GraphTensor);
    return { output: outputs[outputName] as GraphTensor, states: next };
  }

  emptyStates(): GraphTensor[] {
    return this.stateInputs.map(({ shape: [layers, , size] }) => {
      if (typeof layers !== 'number' || typeof size !== 'number') throw invalidGraph('its states have no static size');
      return this.prediction.tensor('float32', new Float32Array(layers * size), [layers, 1, size]);
    });
  }

  async release(): Promise<void> {
    const { encoder, joint, predictor } = this.sessions;
    await encoder.release();
    await joint.release();
    await predictor?.release();
  }
}

/** A text being written. Reading the logits of a frame changes nothing until a token is accepted. */
export class TransducerText {
  private states: GraphTensor[];
  /** The prediction of the last token and the states behind it; null if it was not computed yet. */
  private predicted: { output: GraphTensor; states: GraphTensor[] } | null = null;

  constructor(
    private readonly graphs: TransducerGraphs,
    private token: number,
  ) {
    this.states = graphs.emptyStates();
  }

  /** Returns the logits of tokens, followed by those of durations. */
  async logits(frame: Float32Array): Promise<Float32Array> {
    const { graphs, token, states } = this;
    const { joint, predictor } = graphs.sessions;
    const heard = joint.tensor('float32', frame, [1, frame.length, 1]);
    if (predictor === null) {
      this.predicted = await graphs.predict(token, states, { encoder_outputs: heard });
      return this.predicted.output.data as Float32Array;
    }
    this.predicted ??= await graphs.predict(token, states);
    const [name = ''] = joint.outputs.map((output) => output.name);
    const feeds = { encoder_outputs: heard, decoder_outputs: this.predicted.output };
    return (await joint.run(feeds, [name]))[name]?.data as Float32Array;
  }

  accept(token: number): void {
    this.states = this.predicted?.states ?? this.states;
    this.token = token;
    this.predicted = null;
  }
}

/** Returns the static number of bands of an encoder; null if it has none. */
function bandsOf(encoder: GraphSession): number | null {
  requireInputs(encoder, ['audio_signal', 'length']);
  if (encoder.inputs.length > 2) throw invalidGraph('its encoder is for streams and has more inputs than a recording');
  const features = encoder.inputs.find(({ name }) => name === 'audio_signal');
  if (features?.type !== 'float32') throw invalidGraph('its encoder does not take float32 features');
  const [, bands] = features.shape;
  return typeof bands === 'number' ? bands : null;
}

function requireInputs({ inputs }: GraphSession, names: readonly string[]): void {
  const missing = names.find((name) => inputs.every((input) => input.name !== name));
  if (missing !== undefined) throw invalidGraph(`it has no input ${missing}`);
}

function invalidGraph(reason: string): PlatformError {
  return new PlatformError('INVALID_MODEL', `The model's graph cannot be used: ${reason}.`);
}
