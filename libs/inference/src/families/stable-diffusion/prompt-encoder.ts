import { PlatformError } from '#common';
import { floatsOf, integerTensor } from '../../runtime/float-tensor.js';
import type { GraphSession } from '../../runtime/graph-session.js';
import type { ClipTokenizer } from './clip-tokenizer.js';

/** An encoded prompt for the denoiser. */
export interface EncodedPrompt {
  /** `[tokens, width]`. */
  states: Float32Array;
  tokens: number;
  width: number;
  /** Pooled vector of the prompt; null for models with one encoder. */
  pooled: Float32Array | null;
}

/** A text encoder with its tokenizer. */
export interface TextEncoder {
  tokenizer: ClipTokenizer;
  session: GraphSession;
}

interface EncoderOutput {
  states: Float32Array;
  tokens: number;
  width: number;
  pooled: Float32Array | null;
}

/**
 * Encodes prompts with one encoder (last layer) or with two (SDXL, https://arxiv.org/abs/2307.01952). With two it joins
 * their second-to-last layers and takes the pooled vector of the second.
 */
export class PromptEncoder {
  constructor(
    private readonly encoders: readonly TextEncoder[],
    private readonly zerosForEmpty: boolean,
  ) {}

  async encode(prompt: string): Promise<EncodedPrompt> {
    const answers: EncoderOutput[] = [];
    for (const encoder of this.encoders) answers.push(await this.run(encoder, prompt));
    const [first] = answers;
    const last = answers.at(-1);
    if (first === undefined || last === undefined)
      throw new PlatformError('INVALID_MODEL', 'The model has no text encoder.');
    if (answers.length === 1) return { ...first, pooled: null };
    return { ...sideBySide(answers), pooled: last.pooled };
  }

  /** Encodes the negative prompt. */
  async encodeNegative(prompt: string): Promise<EncodedPrompt> {
    const encoded = await this.encode(prompt);
    if (prompt !== '' || !this.zerosForEmpty) return encoded;
    const pooled = encoded.pooled === null ? null : new Float32Array(encoded.pooled.length);
    return { ...encoded, states: new Float32Array(encoded.states.length), pooled };
  }

  private async run({ tokenizer, session }: TextEncoder, prompt: string): Promise<EncoderOutput> {
    const ids = tokenizer.encode(prompt);
    const names = session.outputs.map(({ name }) => name);
    const states = this.encoders.length > 1 ? penultimate(names) : 'last_hidden_state';
    const pooled = names.includes('text_embeds') ? ['text_embeds'] : [];
    const input_ids = integerTensor(session, { input: 'input_ids', data: ids, dims: [1, ids.length] });
    const outputs = await session.run({ input_ids }, [states, ...pooled]);
    const [, tokens = 0, width = 0] = outputs[states]?.dims ?? [];
    return {
      states: Float32Array.from(floatsOf(outputs[states])),
      tokens,
      width,
      pooled: pooled.length > 0 ? Float32Array.from(floatsOf(outputs['text_embeds'])) : null,
    };
  }
}

/** Returns the name of the second-to-last hidden state among the outputs of an SDXL export. */
function penultimate(outputs: readonly string[]): string {
  const layers = outputs.filter((name) => /^hidden_states\.\d+$/.test(name));
  const ordered = layers.toSorted((left, right) => Number(left.split('.')[1]) - Number(right.split('.')[1]));
  const name = ordered.at(-2);
  if (name === undefined) throw new PlatformError('INVALID_MODEL', 'A text encoder lacks the outputs hidden_states.');
  return name;
}

function sideBySide(answers: readonly EncoderOutput[]): Omit<EncodedPrompt, 'pooled'> {
  const tokens = answers[0]?.tokens ?? 0;
  const width = answers.reduce((sum, output) => sum + output.width, 0);
  const states = new Float32Array(tokens * width);
  let column = 0;
  for (const output of answers) {
    for (let token = 0; token < tokens; token++) {
      const row = output.states.subarray(token * output.width, (token + 1) * output.width);
      states.set(row, token * width + column);
    }
    column += output.width;
  }
  return { states, tokens, width };
}
